# res.headers and res.trailers.
use Test::Nginx::Socket 'no_plan';
use NhfcTest;
use NhfcUpstream;

no_long_string();
run_tests();

__DATA__

=== TEST 1: case 50, response header lookup: any case, "_" for "-"
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local res = assert(client.request_uri({ host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_3 }))
            local h = res.headers
            ngx.say(h["Content-Type"], " ", h["content-type"], " ", h["CONTENT-TYPE"], " ", h.content_type, " ", h.Content_Type)
            ngx.say(h["X_Under"], " ", h["x-under"], " ", h.x_under, " ", h["x_Under"])
            ngx.say(h["X-None"], " ", h.x_none, " ", h[1], " ", h[true], " ", h["Content-Typ"], " ", h["Content Type"], " ", h[""])
        }
    }
--- tcp_listen: $TEST_NGINX_RAND_PORT_3
--- tcp_reply eval
"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX_Under: u\r\nContent-Length: 0\r\n\r\n"
--- response_body
text/plain text/plain text/plain text/plain text/plain
u u u u
nil nil nil nil nil nil nil



=== TEST 2: case 50, a name that comes again is an array in the order received, and pairs shows it once
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local res = assert(client.request_uri({ host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_3 }))
            local h = res.headers
            for _, name in ipairs({ "Set-Cookie", "set-cookie", "SET-COOKIE", "set_cookie" }) do
                ngx.say(name, ": ", #h[name], " ", table.concat(h[name], ", "))
            end
            local lines = {}
            for name, value in pairs(h) do
                lines[#lines + 1] = name .. "=" .. (type(value) == "table" and table.concat(value, "+") or value)
            end
            table.sort(lines)
            ngx.say(table.concat(lines, "\n"))
        }
    }
--- tcp_listen: $TEST_NGINX_RAND_PORT_3
--- tcp_reply eval
"HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nx-one: 1\r\nset-cookie: b=2\r\nContent-Length: 2\r\nVary: a\r\nSET-COOKIE: c=3\r\nVARY: b\r\n\r\nok"
--- response_body
Set-Cookie: 3 a=1, b=2, c=3
set-cookie: 3 a=1, b=2, c=3
SET-COOKIE: 3 a=1, b=2, c=3
set_cookie: 3 a=1, b=2, c=3
Content-Length=2
Set-Cookie=a=1+b=2+c=3
Vary=a+b
x-one=1



=== TEST 3: names that differ in "_" and "-" only are two
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local res = assert(client.request_uri({ host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_3 }))
            local h = res.headers
            ngx.say(h["X-A"], " ", h["X_A"], " ", h["x-a"], " ", h["x_a"])
        }
    }
--- tcp_listen: $TEST_NGINX_RAND_PORT_3
--- tcp_reply eval
"HTTP/1.1 200 OK\r\nX-A: dash\r\nX_A: under\r\nContent-Length: 0\r\n\r\n"
--- response_body
dash under dash under



=== TEST 4: case 50, writing in any case changes the header that is there
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local res = assert(client.request_uri({ host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_3 }))
            local h = res.headers
            h["content-type"] = "text/html"
            h.x_two = "new"
            h["SET-COOKIE"] = nil
            h["X-Three"] = { "1", "2" }
            h["x-three"] = "3"
            local lines = {}
            for name, value in pairs(h) do
                lines[#lines + 1] = name .. "=" .. value
            end
            table.sort(lines)
            ngx.say(table.concat(lines, "\n"))
            ngx.say(h["Content-Type"], " ", h["set-cookie"], " ", h["X-Two"])
        }
    }
--- tcp_listen: $TEST_NGINX_RAND_PORT_3
--- tcp_reply eval
"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX-Two: old\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nContent-Length: 0\r\n\r\n"
--- response_body
Content-Length=0
Content-Type=text/html
X-Three=3
X-Two=new
text/html nil new



=== TEST 5: case 13, empty values, and the body behind them
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local res = assert(client.request_uri({ host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_3 }))
            local h = res.headers
            ngx.say("[", h["X-Empty"], "] [", h["X-Blank"], "] [", table.concat(h["X-Some"], ","), "] [", h["X-Last"], "]")
            ngx.say("[", res.body, "]")
        }
    }
--- tcp_listen: $TEST_NGINX_RAND_PORT_3
--- tcp_reply eval
"HTTP/1.1 200 OK\r\nX-Empty:\r\nContent-Length: 4\r\nX-Some:\r\nX-Blank: \t \r\nX-Some: 1\r\nX-Some:\r\nX-Last:\r\n\r\nbody"
--- response_body
[] [] [,1,] []
[body]



=== TEST 6: blanks around a value are not part of it; bytes above ASCII are
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local res = assert(client.request_uri({ host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_3 }))
            local h = res.headers
            ngx.say("[", h["X-A"], "] [", h["X-B"], "] [", h["X-C"], "] [", h["X-D"], "] [", h["!#$%&'*+-.^_`|~9z"], "]")
        }
    }
--- tcp_listen: $TEST_NGINX_RAND_PORT_3
--- tcp_reply eval
"HTTP/1.1 200 OK\r\nX-A:a\r\nX-B: \t b  c\t \r\nX-C: \xc3\xbc\xff\r\nX-D: a:b, \"c\"\r\n!#\$%&'*+-.^_`|~9z: all\r\nContent-Length: 0\r\n\r\n"
--- response_body eval
"[a] [b  c] [\xc3\xbc\xff] [a:b, \"c\"] [all]\n"



=== TEST 7: case 34, 200 lines and 32 KB are taken
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local res, err = client.request_uri({ host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_3 })
            if not res then
                return ngx.say("failed: ", err)
            end
            local n, bytes = 0, 0
            for name, value in pairs(res.headers) do
                n, bytes = n + 1, bytes + #name + #value
            end
            ngx.say(n, " ", bytes > 32000, " ", #res.headers["x-198"], " ", res.body)
        }
    }
--- tcp_listen: $TEST_NGINX_RAND_PORT_3
--- tcp_reply eval
"HTTP/1.1 200 OK\r\n" . CORE::join('', map { "X-$_: " . ('v' x 160) . "\r\n" } 1 .. 199) . "Content-Length: 2\r\n\r\nok"
--- response_body
200 true 160 ok



=== TEST 8: the headers stay what they were when the connection has gone on
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local all = {}
            for i = 1, 5 do
                all[i] = assert(client.request_uri({
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/raw",
                    query = { piece = "HTTP/1.1 200 R" .. i .. "\r\nX-Number: " .. i .. "\r\nX-Long-" .. i .. ": " .. ("x"):rep(i * 999)
                                      .. "\r\nContent-Length: 0\r\n\r\n" },
                }))
            end
            collectgarbage()
            for i = 1, 5 do
                ngx.say(all[i].reason, " ", all[i].headers["x-number"], " ", #all[i].headers["X-LONG-" .. i])
            end
        }
    }
--- response_body
R1 1 999
R2 2 1998
R3 3 2997
R4 4 3996
R5 5 4995



=== TEST 9: a response table passed straight back as request headers
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local first = assert(client.request_uri({ host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_3 }))
            local second = assert(client.request_uri({
                host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, headers = first.headers,
            }))
            local lines = {}
            for line in second.body:gmatch("(X[^\r\n]*)\r\n") do
                lines[#lines + 1] = line
            end
            table.sort(lines)
            ngx.say(table.concat(lines, "\n"))
            ngx.say(second.body:find("X-Cookie: b\r\nX-Cookie: a\r\n", 1, true) ~= nil)
        }
    }
--- tcp_listen: $TEST_NGINX_RAND_PORT_3
--- tcp_reply eval
"HTTP/1.1 204 No Content\r\nX-Cookie: b\r\nX-One: 1\r\nX-Cookie: a\r\nX-Empty:\r\n\r\n"
--- response_body_like
^X-Cookie: a
X-Cookie: b
X-Empty: ?
X-One: 1
true



=== TEST 10: trailers are like headers, and apart from them
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local res = assert(client.request_uri({ host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_3 }))
            local h, t = res.headers, res.trailers
            ngx.say(t["X-Sum"], " ", t["x-sum"], " ", t.x_sum, " ", table.concat(t["x-many"], ","), " [", t["X-Empty"], "]")
            ngx.say(h["X-Sum"], " ", h.x_many, " ", h["X-Kept"], " ", t.x_kept)
            local n = 0
            for _ in pairs(t) do n = n + 1 end
            ngx.say(n, " ", res:read_trailers() == t, " ", res.body)
        }
    }
--- tcp_listen: $TEST_NGINX_RAND_PORT_3
--- tcp_reply eval
"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\nX-Kept: k\r\n\r\n2\r\nab\r\n0\r\nX-Sum: 7\r\nX-Many: 1\r\nx-many: 2\r\nX-Empty:\r\n\r\n"
--- response_body
7 7 7 1,2 []
nil nil k nil
3 true ab



=== TEST 11: case 33, trailers do not change headers that were there
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_3))
            local res = assert(httpc:request({ path = "/" }))
            local trailers = res.trailers
            ngx.say(next(trailers), " ", res:read_body(), " ", trailers["x-sum"], " ", res.trailers == trailers)
            ngx.say(res.headers["X-Auth"], " ", res.headers["Content-Length"], " ", res.headers["X-Sum"])
            ngx.say(httpc:set_keepalive())
        }
    }
--- tcp_listen: $TEST_NGINX_RAND_PORT_3
--- tcp_no_close
--- tcp_reply eval
"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Auth: yes\r\n\r\n2\r\nab\r\n0\r\nX-Sum: 7\r\nX-Auth: no\r\n\r\n"
--- response_body
nil ab 7 true
yes nil nil
1
