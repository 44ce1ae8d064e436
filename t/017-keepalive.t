# Which connections are used again, and for how long they wait.
use Test::Nginx::Socket 'no_plan';
use NhfcTest;
use NhfcUpstream;

no_long_string();
run_tests();

__DATA__

=== TEST 1: the idle time of set_keepalive, and 0 for ever
--- config
    lua_socket_keepalive_timeout 300ms;
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local function again(pause, ...)
                local httpc = client.new()
                for i = 1, 2 do
                    assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
                    if i == 2 then
                        ngx.say(httpc:get_reused_times())
                        return httpc:close()
                    end
                    assert(httpc:request({ path = "/connection" })):read_body()
                    ngx.print(httpc:set_keepalive(...), " ")
                    ngx.sleep(pause)
                end
            end
            again(0.15, 100)
            again(0.35, 5000)
            again(0.35)
            again(0.01)
            again(0.35, 0)
            again(0.35, nil)
            again(0.35, 5000.5)
        }
    }
--- response_body
1 0
1 1
1 0
1 1
1 1
1 0
1 1



=== TEST 2: an idle connection is closed when its time is over, not when it is next wanted
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            assert(client.request_uri({
                host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/raw", keepalive = { idle_timeout = 50 },
                query = { hold = 1, piece = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" },
            }))
            ngx.sleep(0.02)
            ngx.log(ngx.WARN, "still there;")
            ngx.sleep(0.1)
            ngx.log(ngx.WARN, "gone;")
            ngx.say("ok")
        }
    }
--- response_body
ok
--- grep_error_log eval: qr/still there;|upstream: client closed|gone;/
--- grep_error_log_out
still there;
upstream: client closed
gone;
--- no_error_log
[error]
[alert]
[crit]
[emerg]
exited on signal



=== TEST 3: case 59, arguments of set_keepalive that are missing or odd
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            local function again(...)
                assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
                assert(httpc:request({ path = "/connection" })):read_body()
                local reused = httpc:get_reused_times()
                local ok, res, err = pcall(httpc.set_keepalive, httpc, ...)
                ngx.say(reused, " ", ok, " ", res, " ", err)
            end
            again()
            again(nil, nil)
            again(false, false)
            again(0, 0)
            again("x", {})
            again("60000", "5")
            again(-1, -1)
            again(1e300, 1e300)
            again(60000.5, 2.5)
            again(0/0, 0/0)
            again({}, print)
            again(true, true)
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            ngx.say(httpc:get_reused_times())
        }
    }
--- response_body eval
CORE::join("", map { "$_ true 1 nil\n" } 0 .. 11) . "12\n"



=== TEST 4: case 52, a server that closes after the answer without saying so
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local good = 0
            for i = 1, 20 do
                local res, err = client.request_uri({
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/raw", keepalive = {},
                    method = i % 2 == 0 and "POST" or "GET",
                    query = { piece = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" },
                })
                good = good + (res and res.body == "ok" and 1 or 0)
                if not res then
                    ngx.say(i, " ", err)
                end
                ngx.sleep(i > 10 and 0.005 or 0)
            end
            ngx.say(good)
        }
    }
--- response_body
20



=== TEST 5: case 52, a kept connection that dies under a request: safe ones are sent again, others are not
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local function ask(method, path, query)
                local res, err = client.request_uri({
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, method = method, path = path, query = query,
                    keepalive = {},
                })
                return res and res.body or err
            end
            local dying = { hold = 1, piece = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" }
            ngx.say(ask("GET", "/raw", dying))
            ngx.say(ask("GET", "/connection"))
            ngx.say(ask("GET", "/connection"))
            assert(client.request_uri({
                host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/", headers = { Connection = "close" }, keepalive = {},
            }))
            ngx.say(ask("GET", "/raw", dying))
            local err = ask("POST", "/connection")
            ngx.say(err == "closed" or err == "connection reset by peer" or err)
            ngx.say(ask("POST", "/connection"))
        }
    }
--- response_body
ok
1:1
1:2
ok
true
2:1
--- grep_error_log eval: qr/upstream: client .*?(?=,)/
--- grep_error_log_out
upstream: client sent more
upstream: client sent more



=== TEST 6: bytes that come while a connection is kept end it; nobody gets them
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            assert(client.request_uri({
                host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/raw", keepalive = {},
                query = { pause = 20, hold = 1, piece = { "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
                          "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil" } },
            }))
            require("nhfc").wait_for(function() return client.stats().total.idle == 0 end)
            ngx.say(assert(client.request_uri({
                host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/connection", keepalive = {},
            })).body)
        }
    }
--- response_body
1:1
--- grep_error_log eval: qr/upstream: client .*?(?=,)/
--- grep_error_log_out eval
qr/upstream: client (closed|connection reset by peer)\n/



=== TEST 7: case 17, more bytes than Content-Length: exactly so many, and the connection goes at once
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            for _, pieces in ipairs({
                { "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil" },
                { "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", "lo\r\n" },
                { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\nX" },
            }) do
                local res, err = client.request_uri({
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/raw", keepalive = {},
                    query = { hold = 1, piece = pieces },
                })
                ngx.say(res and res.body, " ", err)
                ngx.sleep(0.01)
                ngx.log(ngx.WARN, "next;")
            end
            ngx.say(assert(client.request_uri({
                host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/connection", keepalive = {},
            })).body)
        }
    }
--- response_body
hello nil
hello nil
hello nil
1:1
--- grep_error_log eval: qr/upstream: client .*?(?=,)|next;/
--- grep_error_log_out eval
qr/^(upstream: client (closed|connection reset by peer)\nnext;\n){3}$/
--- no_error_log
[error]
[alert]
[crit]
[emerg]
exited on signal



=== TEST 8: case 25, HTTP/1.0 peers
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            for _, piece in ipairs({
                "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na",
                "HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: foo\r\n\r\na",
                "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\na",
                "HTTP/1.0 200 OK\r\nConnection: keep-alive, close\r\nContent-Length: 1\r\n\r\na",
                "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
            }) do
                assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
                ngx.print(httpc:get_reused_times(), " ")
                local res, err = httpc:request({ path = "/raw", query = { hold = 1, piece = piece } })
                local body = res and res:read_body() or err
                ngx.say(body, " ", httpc:set_keepalive())
            end
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            ngx.say(httpc:get_reused_times())
        }
    }
--- response_body
0 a 2connection must be closed
0 a 2connection must be closed
0 a 1
1 a 2connection must be closed
0 a 2connection must be closed
0



=== TEST 9: case 19, a HEAD or 204 answer that does carry a body
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local function ask(method, path, ...)
                local res, err = client.request_uri({
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, method = method, path = path, keepalive = {},
                    query = { hold = 1, piece = { ... } },
                })
                ngx.say(res and res.status, " [", res and res.body, "] ", err)
                if path == "/raw" then
                    require("nhfc").wait_for(function() return client.stats().total.idle == 0 end)
                end
            end
            ask("HEAD", "/raw", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
            ask("GET", "/connection")
            ask("HEAD", "/raw", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "hello")
            ask("GET", "/connection")
            ask("GET", "/raw", "HTTP/1.1 204 No Content\r\n\r\nhello")
            ask("GET", "/connection")
            ask("GET", "/raw", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", "hello")
            ask("GET", "/connection")
            ask("GET", "/raw", "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n", "0\r\n\r\n")
            ask("GET", "/connection")
        }
    }
--- response_body
200 [] nil
200 [1:1] nil
200 [] nil
200 [2:1] nil
204 [] nil
200 [3:1] nil
204 [] nil
200 [4:1] nil
304 [] nil
200 [5:1] nil
--- grep_error_log eval: qr/upstream: client .*?(?=,)/
--- grep_error_log_out eval
qr/^(upstream: client (closed|connection reset by peer)\n){5}$/



=== TEST 10: case 20, 204, 304 and HEAD with a length: no wait, and the connection is kept
--- http_config
    server {
        listen 127.0.0.1:$TEST_NGINX_RAND_PORT_3;
        keepalive_requests 1000;
        location = /304 {
            content_by_lua_block {
                ngx.status = 304
                ngx.header.content_length = 5
                ngx.exit(304)
            }
        }
        location / {
            content_by_lua_block {
                ngx.header.content_length = 5
                ngx.print("hello")
            }
        }
        location = /204 { return 204; }
        location = /n { return 200 $connection_requests; }
    }
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            local function ask(method, path)
                assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_3))
                local res = assert(httpc:request({ method = method, path = path }))
                ngx.say(res.status, " ", res.has_body, " [", res:read_body(), "] ", httpc:set_keepalive())
            end
            ask("HEAD", "/")
            ask("GET", "/304")
            ask("GET", "/204")
            ask("GET", "/n")
        }
    }
--- response_body
200 false [] 1
304 false [] 1
204 false [] 1
200 true [4] 1



=== TEST 11: case 20, 204 and 304 that announce a body, byte for byte
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            ngx.update_time()
            local start, httpc = ngx.now(), client.new()
            for _, head in ipairs({ "204 No Content", "304 Not Modified" }) do
                for _, framing in ipairs({ "Content-Length: 5", "Transfer-Encoding: chunked", "X-None: 1" }) do
                    assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
                    local res, err = httpc:request({ path = "/raw", query = {
                        hold = 1, piece = "HTTP/1.1 " .. head .. "\r\n" .. framing .. "\r\n\r\n",
                    } })
                    ngx.say(res and res.status, " ", res and res.has_body, " [", res and res:read_body(), "] ", err, " ",
                            httpc:get_reused_times(), " ", httpc:set_keepalive())
                    assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
                    ngx.say(httpc:get_reused_times(), " ", httpc:close())
                end
            end
            ngx.update_time()
            ngx.say(ngx.now() - start < 0.5)
        }
    }
--- response_body eval
CORE::join("", map { "$_ false [] nil 0 1\n1 1\n" } (204) x 3, (304) x 3) . "true\n"
