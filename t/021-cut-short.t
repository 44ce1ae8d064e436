# Responses that end too early, and connections that break.
use Test::Nginx::Socket 'no_plan';
use NhfcTest;
use NhfcUpstream;

no_long_string();
worker_connections(512);
run_tests();

__DATA__

=== TEST 1: case 21, a body shorter than Content-Length
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            ngx.say(client.request_uri({ host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_3, keepalive = {} }))
        }
    }
--- tcp_listen: $TEST_NGINX_RAND_PORT_3
--- tcp_reply eval
"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"
--- response_body
nilclosed



=== TEST 2: case 21, read_body gives what came, the reader gives it before the error
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            for _, bytes in ipairs({ "Content-Length: 10\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\nA\r\nlo" }) do
                for _, how in ipairs({ "read_body", "reader", "both" }) do
                    local httpc = client.new()
                    assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
                    local res = assert(httpc:request({ path = "/raw", query = { piece = "HTTP/1.1 200 OK\r\n" .. bytes } }))
                    local got = ""
                    if how ~= "read_body" then
                        for _ = 1, 20 do
                            local piece, err = res.body_reader(2)
                            if not piece then
                                ngx.print(err, " ")
                                break
                            end
                            got = got .. piece
                            if how == "both" then
                                break
                            end
                        end
                    end
                    if how ~= "reader" then
                        local body, err, partial = res:read_body()
                        ngx.print(body, " ", err, " ")
                        got = got .. "+" .. partial
                    end
                    local piece, err = res.body_reader()
                    ngx.say(got, " ", piece, " ", err, " ", httpc:set_keepalive())
                end
            end
        }
    }
--- response_body
nil closed +hello nil closed nilclosed
closed hello nil closed nilclosed
nil closed he+llo nil closed nilclosed
nil closed +hello nil closed nilclosed
closed hello nil closed nilclosed
nil closed he+llo nil closed nilclosed



=== TEST 3: case 90, one error, and the same one on every later call
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            local res = assert(httpc:request({ path = "/raw", query = { hold = 1,
                piece = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\nXX\r\n" } }))
            ngx.say(res.body_reader())
            for _ = 1, 3 do
                ngx.say(res.body_reader())
                ngx.say(res:read_body())
                ngx.say(res:read_trailers())
            end
            ngx.say(httpc:set_keepalive())
            ngx.say(httpc:request({ path = "/connection" }))
            ngx.say(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            ngx.say(assert(httpc:request({ path = "/connection" })):read_body())
        }
    }
--- response_body eval
"ok\n" . "nilinvalid response: chunk size\n" x 9 . "nilclosed\nnilclosed\n1\n1:1\n"



=== TEST 4: case 90, an event stream without an event is no error
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            for _, head in ipairs({ "", "Content-Length: 0\r\n", "Transfer-Encoding: chunked\r\n" }) do
                local httpc = client.new()
                assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
                local res = assert(httpc:request({ path = "/raw", query = { piece = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                    .. head .. "\r\n" .. (head:find("chunked") and "0\r\n\r\n" or "") } }))
                local piece, err = res.body_reader()
                ngx.say(piece, " ", err)
            end
        }
    }
--- response_body
nil nil
nil nil
nil nil



=== TEST 5: cases 16 and 21, a response that is cut off at any place
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            for _, bytes in ipairs({
                "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nX-A: b\r\n\r\nbody",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n2;a\r\ndy\r\n0\r\nT: t\r\n\r\n",
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nb",
            }) do
                local good, threads = 0, {}
                local function one(i)
                    local res, err = client.request_uri({
                        host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/raw", query = { piece = bytes:sub(1, i) },
                    })
                    if not res and err == "closed" then
                        good = good + 1
                    else
                        ngx.say(i, " ", res and res.body, " ", err)
                    end
                end
                for i = 1, #bytes do
                    threads[i] = ngx.thread.spawn(one, i - 1)
                end
                for i = 1, #bytes do
                    ngx.thread.wait(threads[i])
                end
                ngx.say(good == #bytes)
            end
        }
    }
--- response_body
true
true
true



=== TEST 6: case 104, a connection that is reset
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local res, err = client.request_uri({
                host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_3, method = "POST", body = ("x"):rep(20000000),
            })
            ngx.say(res, " ", err)
        }
    }
--- tcp_listen: $TEST_NGINX_RAND_PORT_3
--- tcp_reply:
--- response_body_like: ^nil (connection reset by peer|broken pipe)$



=== TEST 7: case 104, refused is told at once, to both entry points, and the worker goes on
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            ngx.update_time()
            local start = ngx.now()
            for _ = 1, 20 do
                local res, err = client.request_uri({ host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_3, keepalive = {} })
                assert(not res and err == "connection refused", err)
                res, err = client.new():connect({ host = "localhost", port = $TEST_NGINX_RAND_PORT_3 })
                assert(not res and err:find("connection refused", 1, true) == 1, err)
            end
            ngx.update_time()
            ngx.say(ngx.now() - start < 0.5)
            ngx.say(assert(client.request_uri({ host = "localhost", port = $TEST_NGINX_RAND_PORT_1, path = "/connection" })).body)
        }
    }
--- response_body
true
1:1
--- no_error_log
[alert]
[crit]
[emerg]
exited on signal



=== TEST 8: case 90, a connection that ends early is not kept, and preread_body tells it too
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            ngx.say(httpc:request({ path = "/raw", preread_body = true, query = {
                piece = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello",
            } }))
            ngx.say(httpc:set_keepalive())
            ngx.say(httpc:get_reused_times())
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            ngx.say(httpc:get_reused_times())
        }
    }
--- response_body
nilclosed
nilclosed
nilclosed
0



=== TEST 9: an answer that comes before the request is sent to its end
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            local res, err = httpc:request({ method = "POST", path = "/", body = ("x"):rep(20000000) })
            ngx.say(res and res.status, " ", res and res:read_body():match("<h1>(.-)</h1>"), " ", err)
            ngx.say(httpc:set_keepalive())
        }
    }
--- response_body
413 413 Request Entity Too Large nil
2connection must be closed
