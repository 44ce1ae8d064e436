# Where a response ends: lengths, chunks, the close, no body at all, and interim responses before it.
use Test::Nginx::Socket 'no_plan';
use NhfcTest;
use NhfcUpstream;

no_long_string();
worker_connections(512);
run_tests();

__DATA__

=== TEST 1: Content-Length, a byte at a time
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local res, err = client.request_uri({ host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_3 })
            ngx.say(res and res.status, " ", res and res.reason, " ", res and res.headers["x-a"], " [", res and res.body, "] ", err)
        }
    }
--- tcp_listen: $TEST_NGINX_RAND_PORT_3
--- tcp_no_close
--- tcp_reply eval
[split //, "HTTP/1.1 200 Very Good\r\nX-A: a b\r\nContent-Length: 7\r\n\r\n\r\n\0\r\n\r\n"]
--- response_body eval
"200 Very Good a b [\r\n\0\r\n\r\n] nil\n"



=== TEST 2: case 6, chunks with extensions, odd sizes and trailers, a byte at a time
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local res, err = client.request_uri({ host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_3 })
            ngx.say(res and res.body, " ", err)
            ngx.say(res.trailers["X-Sum"], " ", res.headers["X-Sum"])
        }
    }
--- tcp_listen: $TEST_NGINX_RAND_PORT_3
--- tcp_no_close
--- tcp_reply eval
[split //, "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n1\r\na\r\n00003;a=b;c\r\nbcd\r\nA;x=\"y z\"\r\n0123456789\r\n"
. "0b\r\n0123456789a\r\n000;last\r\nX-Sum: 26\r\n\r\n"]
--- response_body
abcd01234567890123456789a nil
26 nil



=== TEST 3: case 24, the end of a body that ends with the connection
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_3))
            local res = assert(httpc:request({ path = "/" }))
            local pieces = {}
            for i = 1, 100 do
                local piece, err = res.body_reader()
                if not piece then
                    ngx.say(table.concat(pieces), " ", piece, " ", err)
                    break
                end
                pieces[i] = piece
            end
            local piece, err = res.body_reader()
            ngx.say(piece, " ", err, " ", httpc:set_keepalive())
        }
    }
--- tcp_listen: $TEST_NGINX_RAND_PORT_3
--- tcp_reply eval
["HTTP/1.1 200 OK\r\nX-A: 1\r\n\r\n", "until ", "the ", "close"]
--- response_body
until the close nil nil
nil nil 2connection must be closed



=== TEST 4: case 24, the same by request_uri, which does not keep it
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            for _, reply in ipairs({ "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\nx", "HTTP/1.0 200 OK\r\n\r\nHTTP/1.1 200 OK" }) do
                local res, err = client.request_uri({
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/raw", query = { piece = reply }, keepalive = {},
                })
                ngx.say("[", res and res.body, "] ", res and res.has_body, " ", err)
            end
            ngx.say(assert(client.request_uri({
                host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/connection", keepalive = {},
            })).body)
        }
    }
--- response_body
[] true nil
[x] true nil
[HTTP/1.1 200 OK] true nil
1:1



=== TEST 5: case 20, HEAD has no body whatever is announced
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            for _, framing in ipairs({ "Content-Length: 2", "Transfer-Encoding: chunked", "X-None: 1" }) do
                local res, err = client.request_uri({
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/raw", method = "HEAD",
                    query = { hold = 1, piece = "HTTP/1.1 200 OK\r\n" .. framing .. "\r\n\r\n" },
                })
                ngx.say(res and res.status, " ", res and res.has_body, " ", res and #res.body, " ", err)
            end
        }
    }
--- response_body
200 false 0 nil
200 false 0 nil
200 false 0 nil



=== TEST 6: "head" is another method, and its answer has the body that it announces
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local res, err = client.request_uri({
                host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_3, method = "head", headers = { Host = "h" },
            })
            ngx.say(res and res.status, " ", res and res.has_body, " ", res and res.body, " ", err)
        }
    }
--- tcp_listen: $TEST_NGINX_RAND_PORT_3
--- tcp_query eval
"head / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
--- tcp_reply eval
"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody"
--- response_body
200 true body nil



=== TEST 7: case 20, 204 with a length, and a peer that says nothing more
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local res, err = client.request_uri({ host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_3, keepalive = {} })
            ngx.say(res and res.status, " [", res and res.body, "] ", res and res.has_body, " ", err)
        }
    }
--- tcp_listen: $TEST_NGINX_RAND_PORT_3
--- tcp_no_close
--- tcp_reply eval
"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n"
--- response_body
204 [] false nil



=== TEST 8: interim responses are passed over, with their headers, a byte at a time
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_3))
            local res = assert(httpc:request({ path = "/" }))
            ngx.say(res.status, " ", res.reason, " ", res.headers["Link"], " ", res.headers["Content-Length"], " ", res:read_body())
            ngx.say(httpc:set_keepalive())
        }
    }
--- tcp_listen: $TEST_NGINX_RAND_PORT_3
--- tcp_no_close
--- tcp_reply eval
[split //, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\nContent-Length: 50\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n"
. "Transfer-Encoding: chunked\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfinal"]
--- response_body
200 OK nil 5 final
1



=== TEST 9: case 31, a 101 is an error, also when Upgrade was sent
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            for _, headers in ipairs({ {}, { Connection = "Upgrade", Upgrade = "websocket" } }) do
                local httpc = client.new()
                assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
                ngx.say(httpc:request({ path = "/raw", headers = headers, query = {
                    hold = 1, piece = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
                } }))
                ngx.say(httpc:set_keepalive())
            end
        }
    }
--- response_body_like
^nilinvalid response: .*101.*
nilclosed
nilinvalid response: .*101.*
nilclosed
--- grep_error_log: upstream: client closed
--- grep_error_log_out
upstream: client closed
upstream: client closed



=== TEST 10: case 31, Upgrade in other answers means nothing
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            for _, status in ipairs({ 200, 426 }) do
                local httpc = client.new()
                assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
                local res = assert(httpc:request({ path = "/raw", query = { hold = 1, piece = "HTTP/1.1 " .. status
                    .. " X\r\nUpgrade: h2c\r\nConnection: Upgrade\r\nContent-Length: 4\r\n\r\nbody" } }))
                ngx.say(res.status, " ", res:read_body(), " ", httpc:set_keepalive())
            end
        }
    }
--- response_body
200 body 1
426 body 1



=== TEST 11: case 15, a status line without a reason
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            for _, line in ipairs({ "HTTP/1.1 404", "HTTP/1.1 404 ", "HTTP/1.1 404 a  b ", "HTTP/1.1 404 \xc3\xbc", "HTTP/1.0 404 1" }) do
                local res, err = client.request_uri({
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/raw",
                    query = { piece = line .. "\r\nContent-Length: 1\r\n\r\nb" },
                })
                ngx.say(res and res.status, " [", res and res.reason, "] ", res and res.body, " ", err)
            end
        }
    }
--- response_body_like eval
"^404 \\[\\] b nil\n404 \\[\\] b nil\n404 \\[a  b ?\\] b nil\n404 \\[\xc3\xbc\\] b nil\n404 \\[1\\] b nil\n"



=== TEST 12: case 5, codings: chunked last, chunked not last, and a look-alike
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            for _, coding in ipairs({ "gzip, chunked", "gzip,CHUNKED", "gzip\r\nTransfer-Encoding: chunked", "chunked, gzip", "xchunked", "gzip" }) do
                local httpc = client.new()
                assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
                local res, err = httpc:request({ path = "/raw", query = {
                    hold = coding:lower():find("chunked$") and coding ~= "xchunked",
                    piece = "HTTP/1.1 200 OK\r\nTransfer-Encoding: " .. coding .. "\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
                } })
                local body = res and res:read_body() or err
                ngx.say((body:gsub("\r\n", "|")), " ", httpc:set_keepalive())
            end
        }
    }
--- response_body_like
^abc 1
abc 1
abc 1
(3\|abc\|0\|\| 2connection must be closed|invalid response: .* nilclosed)
(3\|abc\|0\|\| 2connection must be closed|invalid response: .* nilclosed)
(3\|abc\|0\|\| 2connection must be closed|invalid response: .* nilclosed)



=== TEST 13: a response cut in two at every place is the same response
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local all = {
                "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nX-A: b\r\n\r\nbody",
                "HTTP/1.1 200 OK\r\nX-A: b\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nbod\r\n01\r\ny\r\n0\r\nT: t\r\n\r\n",
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: 4\r\n\r\nbody",
                "HTTP/1.1 200 OK\r\nX-A: b\r\n\r\nbody",
            }
            for _, bytes in ipairs(all) do
                local good, threads = 0, {}
                local function one(i)
                    local res, err = client.request_uri({
                        host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/raw",
                        query = { piece = { bytes:sub(1, i), bytes:sub(i + 1) }, pause = 5 },
                    })
                    if res and res.status == 200 and res.headers["x-a"] == "b" and res.body == "body" then
                        good = good + 1
                    else
                        ngx.say(i, " ", res and res.body, " ", err)
                    end
                end
                for i = 1, #bytes - 1 do
                    threads[i] = ngx.thread.spawn(one, i)
                end
                for i = 1, #bytes - 1 do
                    ngx.thread.wait(threads[i])
                end
                ngx.say(good == #bytes - 1)
            end
        }
    }
--- response_body
true
true
true
true



=== TEST 14: odd lengths around the sizes of buffers, with a length and in chunks
--- http_config
    server {
        listen 127.0.0.1:$TEST_NGINX_RAND_PORT_3;
        location / {
            content_by_lua_block {
                local n = tonumber(ngx.var.arg_n)
                if ngx.var.arg_length then
                    ngx.header.content_length = n
                end
                local left = n
                while left > 0 do
                    local size = left < 10007 and left or 10007
                    ngx.print(("x"):rep(size - 1), "y")
                    left = left - size
                end
            }
        }
    }
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            for _, length in ipairs({ false, true }) do
                local good, all = 0, { 0, 1, 2, 3 }
                for bits = 10, 20 do
                    for extra = -1, 1 do
                        all[#all + 1] = 2 ^ bits + extra
                    end
                end
                for _, n in ipairs(all) do
                    local res, err = client.request_uri({
                        host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_3, keepalive = {}, query = { n = n, length = length },
                    })
                    local _, ends = (res and res.body or ""):gsub("y", "")
                    if res and #res.body == n and ends == math.ceil(n / 10007) then
                        good = good + 1
                    else
                        ngx.say(n, " ", res and #res.body, " ", ends, " ", err)
                    end
                end
                ngx.say(good)
            end
        }
    }
--- response_body
37
37
