# client.new(): connect, request, read_body, set_keepalive, close, get_reused_times.
use Test::Nginx::Socket 'no_plan';
use NhfcTest;
use NhfcUpstream;

no_long_string();
run_tests();

__DATA__

=== TEST 1: connect, request, read_body, set_keepalive
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            ngx.say(httpc:set_timeouts(2000, 2000, 2000))
            ngx.say(httpc:connect({ scheme = "http", host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_3 }))
            local res, err = httpc:request({ method = "GET", path = "/events", headers = { host = "h.test" } })
            if not res then
                return ngx.say("failed: ", err)
            end
            ngx.say(res.status, " ", res.reason, " ", res.headers.x_one, " ", res.has_body, " ", res.body)
            ngx.say(type(res.body_reader), " ", type(res.read_body), " ", type(res.read_trailers))
            ngx.say(res:read_body())
            ngx.say(httpc:set_keepalive())
        }
    }
--- tcp_listen: $TEST_NGINX_RAND_PORT_3
--- tcp_query eval
"GET /events HTTP/1.1\r\nHost: h.test\r\nConnection: keep-alive\r\n\r\n"
--- tcp_reply eval
"HTTP/1.1 200 OK\r\nX-One: 1\r\nContent-Length: 5\r\n\r\nhello"
--- tcp_no_close
--- response_body
true
1
200 OK 1 true nil
function function function
hello
1



=== TEST 2: case 61, get_reused_times is 0 on a new connection and counts up
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            for i = 1, 4 do
                assert(httpc:connect({ host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1 }))
                local reused = httpc:get_reused_times()
                local res = assert(httpc:request({ path = "/connection" }))
                ngx.say(reused, " ", res:read_body(), " ", httpc:get_reused_times(), " ", httpc:set_keepalive())
            end
            assert(httpc:connect({ host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_2 }))
            ngx.say(httpc:get_reused_times())
        }
    }
--- response_body
0 1:1 0 1
1 1:2 1 1
2 1:3 2 1
3 1:4 3 1
0



=== TEST 3: connect has three forms, and gives up the connection the object had
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local port = $TEST_NGINX_RAND_PORT_1
            local httpc = client:new()
            local function ask(...)
                ngx.print((assert(httpc:connect(...))))
                ngx.say(" ", assert(httpc:request({ path = "/connection" })):read_body())
            end
            ask({ host = "127.0.0.1", port = port })
            ask("127.0.0.1", port)
            ask("127.0.0.1", port, { pool = "p" })
            ask("127.0.0.1", tostring(port), "not a table")
            ngx.say(httpc:set_keepalive())
            ask("127.0.0.1", port)
        }
    }
--- response_body
1 1:1
1 2:1
1 3:1
1 4:1
1
1 4:2



=== TEST 4: without a connection everything says "closed"
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            local function all()
                ngx.say(httpc:request({ path = "/" }))
                ngx.say(httpc:set_keepalive())
                ngx.say(httpc:get_reused_times())
                ngx.say(httpc:close())
            end
            all()
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            ngx.say(httpc:close())
            all()
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            ngx.say(httpc:set_keepalive())
            all()
            ngx.say(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_3))
            all()
        }
    }
--- response_body eval
my $closed = "nilclosed\n" x 4;
"${closed}1\n${closed}1\n${closed}nilconnection refused\n$closed"



=== TEST 5: case 55, asking again or pooling while the body is unread
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            local res = assert(httpc:request({ path = "/connection" }))
            ngx.say(httpc:request({ path = "/connection" }))
            ngx.say(res.body_reader(1))
            ngx.say(httpc:request({ path = "/connection" }))
            ngx.say(res:read_body())
            res = assert(httpc:request({ path = "/connection" }))
            ngx.say(res.body_reader(1))
            ngx.say(httpc:set_keepalive())
            ngx.say(res.body_reader(1))
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            ngx.say(httpc:get_reused_times(), " ", assert(httpc:request({ path = "/connection" })):read_body())
        }
    }
--- response_body
nilprevious response body not read
1
nilprevious response body not read
:1
1
2connection must be closed
nilclosed
0 2:1



=== TEST 6: case 92, the body read twice
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            local res = assert(httpc:request({ path = "/connection" }))
            ngx.say(res:read_trailers())
            ngx.say("[", res:read_body(), "] [", res:read_body(), "]")
            local piece, err = res.body_reader()
            ngx.say(piece, " ", err)
            ngx.say(res:read_trailers() == res.trailers)
            ngx.say(httpc:set_keepalive())
            piece, err = res.body_reader()
            ngx.say("[", res:read_body(), "] ", piece, " ", err)
        }
    }
--- response_body
nilthe body has not been read to its end
[1:1] []
nil nil
true
1
[] nil nil



=== TEST 7: preread_body: the body is there when request returns
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            for i = 1, 3 do
                local res = assert(httpc:request({ path = "/connection", preread_body = true }))
                ngx.say(res.status, " ", res.body, " ", res:read_body(), " ", (res.body_reader()))
            end
            local body = ("x"):rep(300000)
            local res = assert(httpc:request({ method = "POST", body = body, preread_body = true }))
            ngx.say(res.body:sub(-#body) == body)
            ngx.say(httpc:set_keepalive())
        }
    }
--- response_body
200 1:1 1:1 1:1
200 1:2 1:2 1:2
200 1:3 1:3 1:3
true
1



=== TEST 8: a refused request leaves the connection usable, and not a byte on it
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_3))
            ngx.say(httpc:request({ headers = { ["X: injected"] = "1" } }))
            ngx.say(httpc:request({ method = "GET /evil" }))
            ngx.say(httpc:request({ method = "POST", body = "abc", headers = { ["Content-Length"] = 4 } }))
            ngx.say(httpc:request("/"))
            ngx.say(assert(httpc:request({ path = "/good", headers = { Host = "h" } })).status)
        }
    }
--- tcp_listen: $TEST_NGINX_RAND_PORT_3
--- tcp_query eval
"GET /good HTTP/1.1\r\nHost: h\r\nConnection: keep-alive\r\n\r\n"
--- tcp_reply eval
"HTTP/1.1 204 No Content\r\n\r\n"
--- response_body
nilinvalid header name
nilinvalid method
nilContent-Length does not match the body
nilparams must be a table, not string
204



=== TEST 9: case 54, after an error the object has no connection, and can connect again
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            for _, path in ipairs({ "/silent", "/raw?hold=1&piece=garbage%0d%0a%0d%0a", "/raw?piece=" }) do
                httpc:set_timeout(100)
                assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
                ngx.say(httpc:request({ path = path }))
                ngx.say(httpc:set_keepalive())
                httpc:set_timeout(0)
                assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
                ngx.say(httpc:get_reused_times(), " ", assert(httpc:request({ path = "/connection" })):read_body())
                ngx.say(httpc:close())
            end
        }
    }
--- response_body
niltimeout
nilclosed
0 1:1
1
nilinvalid response: status line
nilclosed
0 2:1
1
nilclosed
nilclosed
0 3:1
1
--- grep_error_log: upstream: client closed
--- grep_error_log_out
upstream: client closed
upstream: client closed



=== TEST 10: HEAD and 204 have an empty body, and a reader that gives nothing
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            local res = assert(httpc:request({ method = "HEAD", path = "/connection" }))
            ngx.say(res.status, " ", res.has_body, " ", res.headers["Content-Length"])
            local piece, err = res.body_reader()
            ngx.say(piece, " ", err, " [", res:read_body(), "] ", type(res:read_trailers()))
            res = assert(httpc:request({ method = "HEAD", path = "/connection", preread_body = true }))
            ngx.say(res.status, " ", res.has_body, " [", res.body, "] ", (res.body_reader()))
            ngx.say(assert(httpc:request({ path = "/connection" })):read_body())
            ngx.say(httpc:set_keepalive())
        }
    }
--- response_body
200 false 3
nil nil [] table
200 false [] nil
1:3
1



=== TEST 11: case 86, close while the body comes
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            local res = assert(httpc:request({
                path = "/raw", query = { hold = 1, piece = "HTTP/1.1 200 OK\r\n\r\ndata: 1\n\n" },
            }))
            ngx.print(res.body_reader())
            ngx.say(httpc:close())
            ngx.say(res.body_reader())
            ngx.say(res:read_body())
            ngx.say(res:read_trailers())
            ngx.say(httpc:close())
        }
    }
--- response_body
data: 1

1
nilclosed
nilclosed
nilclosed
nilclosed
--- error_log
upstream: client closed
--- no_error_log
[error]
[alert]
[crit]
[emerg]
exited on signal



=== TEST 12: case 25, set_keepalive is 2 when either side closes the connection
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            local function ask(params)
                assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
                ngx.print(httpc:get_reused_times(), " ", assert(httpc:request(params)):read_body())
                ngx.say(" ", httpc:set_keepalive())
            end
            local function piece(head)
                return { hold = 1, piece = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n" .. head .. "\r\nb" }
            end
            ask({ path = "/raw", query = piece("Connection: close\r\n") })
            ask({ path = "/raw", query = piece("Connection: x, CLOSE ,\tfoo\r\n") })
            ask({ path = "/raw", query = piece("Connection: foo\r\nConnection: close\r\n") })
            ask({ path = "/connection", headers = { connection = "Close" } })
            ask({ path = "/connection", headers = { connection = "x, close" } })
            ask({ path = "/connection" })
            ask({ path = "/connection" })
        }
    }
--- response_body
0 b 2connection must be closed
0 b 2connection must be closed
0 b 2connection must be closed
0 1:1 2connection must be closed
0 2:1 2connection must be closed
0 3:1 1
1 3:2 1



=== TEST 13: case 106, methods are found through the module; objects and responses take fields
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            local calls = {}
            local original = {}
            for _, name in ipairs({ "connect", "request", "request_uri", "set_keepalive", "close" }) do
                original[name] = client[name]
                client[name] = function(...)
                    calls[#calls + 1] = name
                    return original[name](...)
                end
            end
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            local res = assert(httpc:request({ path = "/connection" }))
            httpc.mine, res._httpc, res.headers.mine = 1, httpc, "2"
            res:read_body()
            httpc:set_keepalive()
            httpc:close()
            assert(httpc:request_uri("http://127.0.0.1:$TEST_NGINX_RAND_PORT_1/"))
            assert(client.request_uri({ host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1 }))
            for name, method in pairs(original) do
                client[name] = method
            end
            ngx.say(table.concat(calls, " "))
            ngx.say(httpc.mine, " ", res._httpc == httpc, " ", res.headers.mine)
        }
    }
--- response_body
connect request set_keepalive close request_uri request_uri
1 true 2



=== TEST 14: case 107, the tables of connect and request are unchanged; one table serves both
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local guard = { __newindex = function(_, key) error("written: " .. tostring(key)) end }
            local headers = setmetatable({ ["content-type"] = "text/plain" }, guard)
            local params = setmetatable({
                scheme = "http", host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, ssl_verify = false,
                ssl_server_name = "x", method = "POST", path = "/p", query = setmetatable({ a = 1 }, guard),
                headers = headers, body = "b", unknown = true,
            }, guard)
            local httpc = client.new()
            for _ = 1, 2 do
                assert(httpc:connect(params))
                local body = assert(httpc:request(params)):read_body()
                ngx.say(body:match("^[^\r]+"), " ", body:match("\ncontent%-type: ([^\r]+)"), " ", body:match("\r\n\r\n(.*)"))
                ngx.say(httpc:set_keepalive())
            end
            local n = 0
            for _ in pairs(params) do n = n + 1 end
            for _ in pairs(headers) do n = n + 1 end
            ngx.say(n)
        }
    }
--- response_body
POST /p?a=1 HTTP/1.1 text/plain b
1
POST /p?a=1 HTTP/1.1 text/plain b
1
12



=== TEST 15: a connection that the peer closes, or speaks on unasked, takes no other request
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            local length = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n"
            for _, query in ipairs({
                { hold = 1, piece = length .. "Connection: close\r\n\r\na" }, { piece = length .. "\r\na" },
                { piece = "HTTP/1.1 200 OK\r\n\r\na" }, { hold = 1, pause = 5, piece = { length .. "\r\na", length .. "\r\nb" } },
            }) do
                assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
                ngx.print(assert(httpc:request({ path = "/raw", query = query })):read_body(), " ")
                ngx.sleep(0.02)
                local res, err = httpc:request({ path = "/connection" })
                ngx.say(res, " ", err, " ", (httpc:set_keepalive()) ~= 1)
            end
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            ngx.say(httpc:get_reused_times())
        }
    }
--- response_body
a nil closed true
a nil closed true
a nil closed true
a nil closed true
0
