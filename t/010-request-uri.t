# client.request_uri(opts): one request, the whole response.
use Test::Nginx::Socket 'no_plan';
use NhfcTest;
use NhfcUpstream;
use IO::Socket::IP;

no_long_string();
run_tests();

__DATA__

=== TEST 1: status, reason, headers, body and trailers of a response
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local res, err = client.request_uri({
                scheme = "http", host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_3,
                method = "GET", path = "/hello",
                headers = { Host = "h.test", ["X-Trace"] = "1" },
            })
            if not res then
                return ngx.say("failed: ", err)
            end
            ngx.say(type(res.status), " ", res.status, " ", res.reason)
            ngx.say(res.headers["Content-Type"], " ", res.headers["X-Upstream"])
            ngx.say("[", res.body, "] ", res.has_body)
            ngx.say(type(res.trailers), " ", next(res.trailers))
        }
    }
--- tcp_listen: $TEST_NGINX_RAND_PORT_3
--- tcp_query eval
"GET /hello HTTP/1.1\r\nHost: h.test\r\nX-Trace: 1\r\nConnection: close\r\n\r\n"
--- tcp_reply eval
"HTTP/1.1 201 All Good\r\nContent-Type: text/plain\r\nX-Upstream: u1\r\nContent-Length: 5\r\n\r\nhello"
--- response_body
number 201 All Good
text/plain u1
[hello] true
table nil
--- no_error_log
[error]
[alert]
[crit]
[emerg]
exited on signal



=== TEST 2: cases 41 and 94, the defaults: GET / with three lines of head, nothing else
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local res = assert(client.request_uri({ host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1 }))
            ngx.print((res.body:gsub("127.0.0.1:$TEST_NGINX_RAND_PORT_1", "host:port"):gsub("\r", "")))
        }
    }
--- response_body eval
"GET / HTTP/1.1\nHost: host:port\nConnection: close\n\n"



=== TEST 3: case 41, Host has the port unless it is the scheme's
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            for _, host in ipairs({ "127.0.0.1", "localhost", "LOCALHOST" }) do
                local res = assert(client.request_uri({ host = host, port = $TEST_NGINX_RAND_PORT_1 }))
                ngx.say(res.body:match("\nHost: ([^\r\n:]*)"):lower(), " ",
                        res.body:match("\nHost: [^\r\n:]*:(%d+)\r") == "$TEST_NGINX_RAND_PORT_1")
            end
        }
    }
--- response_body
127.0.0.1 true
localhost true
localhost true



=== TEST 4: a body with its length
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            assert(client.request_uri({
                host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_3, method = "POST", path = "/form",
                headers = { Host = "h" }, body = "a=1\r\n\0b",
            }))
            ngx.say("ok")
        }
    }
--- tcp_listen: $TEST_NGINX_RAND_PORT_3
--- tcp_query eval
"POST /form HTTP/1.1\r\nHost: h\r\nContent-Length: 7\r\nConnection: close\r\n\r\na=1\r\n\0b"
--- tcp_reply eval
"HTTP/1.1 204 No Content\r\n\r\n"
--- response_body
ok



=== TEST 5: case 46, methods without a body
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            for _, method in ipairs({ "GET", "DELETE", "OPTIONS", "POST", "PUT", "PATCH" }) do
                local res = assert(client.request_uri({
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, method = method,
                }))
                ngx.say(res.body:match("^%S+"), " ", res.body:match("Content%-Length: (%d+)"))
            end
            local res = assert(client.request_uri({
                host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, body = "",
            }))
            ngx.say(res.body:match("Content%-Length: (%d+)"))
        }
    }
--- response_body
GET nil
DELETE nil
OPTIONS nil
POST 0
PUT 0
PATCH 0
0



=== TEST 6: without keepalive each request has a connection, which is closed after it
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local options = { host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/connection" }
            for _, keepalive in ipairs({ "nil", false }) do
                options.keepalive = keepalive ~= "nil" and keepalive or nil
                ngx.say(assert(client.request_uri(options)).body)
                ngx.say(assert(client.request_uri(options)).body)
            end
        }
    }
--- response_body
1:1
2:1
3:1
4:1



=== TEST 7: case 92, read_body and body_reader of a response that is all there
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local res = assert(client.request_uri({
                host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/connection",
            }))
            ngx.say(res:read_body(), " ", res:read_body(), " ", res.body)
            ngx.say(res.body_reader(2), " ", res.body_reader(), " ", res.body_reader(), " ", (res.body_reader()))
            ngx.say(res.body, " ", res:read_trailers() == res.trailers)
        }
    }
--- response_body
1:1 1:1 1:1
1: 1 nil nil
1:1 true



=== TEST 8: cases 91 and 103, every status is a response
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            for _, status in ipairs({ 200, 301, 404, 429, 500, 599, 999 }) do
                local res, err = client.request_uri({
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/raw",
                    query = { piece = "HTTP/1.1 " .. status .. " S\r\nLocation: /raw\r\nContent-Length: 2\r\n\r\nb" .. status % 10 },
                })
                ngx.say(res and res.status, " ", res and res.body, " ", err)
            end
        }
    }
--- response_body
200 b0 nil
301 b1 nil
404 b4 nil
429 b9 nil
500 b0 nil
599 b9 nil
999 b9 nil



=== TEST 9: case 94, a compressed body is not touched
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local bytes = "\31\139\8\0\0\0\0\0\0\3\0"
            local res = assert(client.request_uri({
                host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/raw",
                query = { piece = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: " .. #bytes .. "\r\n\r\n" .. bytes },
            }))
            ngx.say(res.headers["content-encoding"], " ", res.body == bytes)
        }
    }
--- response_body
gzip true



=== TEST 10: bodies of odd sizes, up and down
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            for _, size in ipairs({ 1, 4095, 4097, 16383, 65536, 65537, 1000003 }) do
                local body = ("0123456789abcdef"):rep(size / 16 + 1):sub(1, size)
                local res = assert(client.request_uri({
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, method = "PUT", body = body,
                    keepalive = {},
                }))
                ngx.say(size, " ", res.body:match("\r\n\r\n(.*)") == body)
            end
        }
    }
--- response_body
1 true
4095 true
4097 true
16383 true
65536 true
65537 true
1000003 true



=== TEST 11: many at a time: each gets its own answer, and none waits for another
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local function one(i)
                local head, body = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n", "n" .. (100 + i)
                local res, err = client.request_uri({
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/raw",
                    query = { piece = { head, body }, pause = 200 },
                })
                return res and res.body == body or err
            end
            local threads, good = {}, 0
            ngx.update_time()
            local start = ngx.now()
            for i = 1, 20 do
                threads[i] = ngx.thread.spawn(one, i)
            end
            for i = 1, 20 do
                local ok, answer = ngx.thread.wait(threads[i])
                good = good + (ok and answer == true and 1 or 0)
            end
            ngx.update_time()
            local time = ngx.now() - start
            ngx.say(good, " ", time >= 0.19 and time < 1)
        }
    }
--- response_body
20 true



=== TEST 12: case 39, IPv6 literals, with and without brackets
--- http_config
    server {
        listen [::1]:$TEST_NGINX_RAND_PORT_3;
        location / { return 200 $http_host; }
    }
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            for _, host in ipairs({ "::1", "[::1]" }) do
                local res, err = client.request_uri({ host = host, port = $TEST_NGINX_RAND_PORT_3 })
                ngx.say(res and res.body == "[::1]:$TEST_NGINX_RAND_PORT_3", " ", err)
            end
            local res, err = client.new():request_uri("http://[::1]:$TEST_NGINX_RAND_PORT_3/")
            ngx.say(res and res.body == "[::1]:$TEST_NGINX_RAND_PORT_3", " ", err)
        }
    }
--- skip_eval: 6: !IO::Socket::IP->new(LocalAddr => '::1', Listen => 1)
--- response_body
true nil
true nil
true nil



=== TEST 13: in rewrite and in subrequests; the answers are the location's own
--- config
    location = /sub {
        rewrite_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            ngx.ctx.first = assert(client.request_uri({
                host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/connection", keepalive = {},
            })).body
        }
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            ngx.print(ngx.ctx.first, " ", assert(client.request_uri({
                host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/connection", keepalive = {},
            })).body)
        }
    }
    location = /t {
        content_by_lua_block {
            local a, b = ngx.location.capture_multi({ { "/sub" }, { "/sub" } })
            ngx.say(a.status, " ", b.status, " ", #a.body, " ", #b.body)
            local res = ngx.location.capture("/sub")
            ngx.say(res.status, " ", res.body:match(":(%d) ") + 1 == tonumber(res.body:match(":(%d)$")))
        }
    }
--- response_body
200 200 7 7
200 true



=== TEST 14: thousands in a row, no two alike
--- log_level: warn
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local bad = 0
            for i = 1, 3000 do
                local post, many, queried = i % 3 == 0, i % 5 == 0, i % 7 == 0
                local res, err = client.request_uri({
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/p" .. i, query = queried and { q = i } or nil,
                    method = post and "POST" or nil, body = post and ("b"):rep(i) or nil, keepalive = i % 11 > 0 and {} or nil,
                    headers = { ["X-I"] = i, ["X-Many"] = many and { i, "b" } or nil },
                })
                local text = res and res.body or ""
                if not (text:find((post and "POST" or "GET") .. " /p" .. i .. (queried and "?q=" .. i or "") .. " ", 1, true) == 1
                        and text:find("\nX-I: " .. i .. "\r", 1, true)
                        and (text:find("\nX-Many: " .. i .. "\r\nX-Many: b\r", 1, true) ~= nil) == many
                        and text:match("\r\n\r\n(.*)") == (post and ("b"):rep(i) or "")
                        and res.headers.content_length == tostring(#text))
                then
                    bad = bad + 1
                    ngx.say(i, " ", err)
                end
            end
            ngx.say(bad)
        }
    }
--- response_body
0
