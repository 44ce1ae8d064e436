# The header lines of a request: what may be given, and what takes the place of the client's own.
use Test::Nginx::Socket 'no_plan';
use NhfcTest;
use NhfcUpstream;

no_long_string();
run_tests();

__DATA__

=== TEST 1: case 43, the caller's lines in another case, each once
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local function lines(headers)
                local res = assert(client.request_uri({
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, method = "POST", body = "abc", headers = headers,
                }))
                for _, name in ipairs({ "host", "content%-length", "connection", "user%-agent" }) do
                    local found = {}
                    for value in res.body:lower():gmatch("\n" .. name .. ": ([^\r]*)") do
                        found[#found + 1] = value
                    end
                    ngx.print(table.concat(found, ","), " ")
                end
                ngx.say()
            end
            lines({ host = "a.test", ["content-length"] = "3", connection = "keep-alive", ["user-agent"] = "me" })
            lines({ HOST = "b.test:81", ["CONTENT-LENGTH"] = 3, CONNECTION = "close", ["USER-AGENT"] = "you" })
        }
    }
--- response_body eval
"a.test 3 keep-alive me \nb.test:81 3 close you \n"



=== TEST 2: case 44, numbers, arrays and empty arrays
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local function lines(value)
                local res, err = client.request_uri({
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, headers = { ["X-Value"] = value },
                })
                local found = {}
                for text in (res and res.body or ""):gmatch("\nX%-Value: ([^\r]*)") do
                    found[#found + 1] = "[" .. text .. "]"
                end
                ngx.say(#found, " ", table.concat(found, " "), " ", err)
            end
            lines("text")
            lines("")
            lines(7)
            lines(-1.5)
            lines(1700000000000000)
            lines({ "a", 2, "c" })
            lines({ "a" })
            lines({})
            lines({ "" })
            lines("a\tb \xc3\xbc")
            lines(nil)
        }
    }
--- response_body eval
"1 [text] nil
1 [] nil
1 [7] nil
1 [-1.5] nil
1 [1700000000000000] nil
3 [a] [2] [c] nil
1 [a] nil
0  nil
1 [] nil
1 [a\tb \xc3\xbc] nil
0  nil
"



=== TEST 3: case 44, values and names of other types are errors that name the header
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local function try(headers)
                local ok, res, err = pcall(client.request_uri, {
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, headers = headers,
                })
                ngx.say(ok, " ", res, " ", err)
            end
            try({ ["X-A"] = true })
            try({ ["X-A"] = false })
            try({ ["X-A"] = print })
            try({ ["X-A"] = ngx.null })
            try({ ["X-A"] = { "a", {} } })
            try({ ["X-A"] = { "a", true } })
            try({ ["X-A"] = { b = "a" } })
            try({ "X-A: b" })
            try({ [true] = "b" })
            try("X-A: b")
            try(7)
            ngx.say(assert(client.request_uri({
                host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/connection", headers = {},
            })).body)
        }
    }
--- response_body_like
^true nil header X-A: .*boolean
true nil header X-A: .*boolean
true nil header X-A: .*function
true nil header X-A: .*userdata
true nil header X-A: .*table
true nil header X-A: .*boolean
true nil header X-A: .*array
true nil header.*number
true nil header.*boolean
true nil headers.*string
true nil headers.*number
1:1



=== TEST 4: Host: for another name than the address
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_3))
            assert(httpc:request({ path = "/", headers = { Host = "virtual.test:8080", ["X-A"] = "1" } }))
            ngx.say("ok")
        }
    }
--- tcp_listen: $TEST_NGINX_RAND_PORT_3
--- tcp_query eval
"GET / HTTP/1.1\r\nHost: virtual.test:8080\r\nX-A: 1\r\nConnection: keep-alive\r\n\r\n"
--- tcp_reply eval
"HTTP/1.1 204 No Content\r\n\r\n"
--- response_body
ok



=== TEST 5: Connection goes as given, and "close" in it keeps the connection out of the pool
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local function ask(connection, path)
                return assert(client.request_uri({
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = path, keepalive = {},
                    headers = { Connection = connection },
                })).body
            end
            for _, value in ipairs({ "close", "Close", "x-a, close", "keep-alive", "x-a", "x-a, Keep-Alive" }) do
                ngx.print(ask(value, "/"):match("\nConnection: ([^\r]*)"), ": ")
                ngx.say(ask(value, "/connection"), " ", ask(nil, "/connection"))
            end
        }
    }
--- response_body_like
^close: 1:1 2:1
Close: 3:1 4:1
x-a, close: 5:1 6:1
keep-alive: 6:3 6:4
x-a: 6:6 6:7
x-a, Keep-Alive: 6:9 6:10



=== TEST 6: Content-Length is taken when it is right
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local function ask(method, body, length)
                local res, err = client.request_uri({
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, method = method, body = body,
                    headers = { ["content-length"] = length },
                })
                local _, lines = (res and res.body or ""):lower():gsub("\ncontent%-length: " .. length .. "\r", "")
                ngx.say(lines, " ", err)
            end
            ask("POST", "abc", 3)
            ask("POST", "abc", "3")
            ask("PUT", nil, 0)
            ask("GET", nil, "0")
            ask("GET", "", "0")
        }
    }
--- response_body
1 nil
1 nil
1 nil
1 nil
1 nil



=== TEST 7: case 45, a Content-Length that is wrong is refused before a byte is sent
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local function refused(body, length)
                local res, err = client.request_uri({
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_3, method = "POST", body = body,
                    headers = { ["Content-Length"] = length },
                })
                ngx.say(res, " ", err)
            end
            for _, length in ipairs({ 2, 4, -3, "0x3", "+3", "3.0", "3e0", "three", "", "3, 3", "18446744073709551619" }) do
                refused("abc", length)
            end
            refused(nil, 3)
            assert(client.request_uri({
                host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_3, headers = { Host = "h" },
            }))
        }
    }
--- tcp_listen: $TEST_NGINX_RAND_PORT_3
--- tcp_query eval
"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
--- tcp_reply eval
"HTTP/1.1 204 No Content\r\n\r\n"
--- response_body eval
"nil Content-Length does not match the body\n" x 12



=== TEST 8: case 45, Transfer-Encoding is dropped, with a body and without
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            for _, name in ipairs({ "Transfer-Encoding", "transfer-encoding", "TRANSFER-ENCODING" }) do
                for _, body in ipairs({ false, "5\r\nhello\r\n0\r\n\r\n" }) do
                    local res = assert(client.request_uri({
                        host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, method = body and "POST" or "GET",
                        body = body or nil, headers = { [name] = { "chunked", "gzip" }, Host = "h", ["X-Last"] = "1" },
                    }))
                    ngx.say((res.body:gsub("\r", "")))
                end
            end
        }
    }
--- response_body eval
my $get = "GET / HTTP/1.1\nHost: h\nX-Last: 1\nConnection: close\n\n\n";
my $post = "POST / HTTP/1.1\nHost: h\nX-Last: 1\nContent-Length: 15\nConnection: close\n\n5\nhello\n0\n\n\n";
"$get$post" x 3



=== TEST 9: the three lines that are the client's own can be given once only
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local function refused(headers)
                local res, err = client.request_uri({
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_3, method = "POST", body = "abc", headers = headers,
                })
                ngx.say(res, " ", err)
            end
            refused({ Host = "a", host = "b" })
            refused({ Host = { "a", "a" } })
            refused({ Connection = { "close", "x" } })
            refused({ Connection = "close", connection = "close" })
            refused({ ["Content-Length"] = 3, ["content-length"] = 3 })
            refused({ ["Content-Length"] = { "3", "3" } })
            assert(client.request_uri({
                host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_3, headers = { Host = { "h" } },
            }))
        }
    }
--- tcp_listen: $TEST_NGINX_RAND_PORT_3
--- tcp_query eval
"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
--- tcp_reply eval
"HTTP/1.1 204 No Content\r\n\r\n"
--- response_body eval
"nil header given more than once\n" x 6



=== TEST 10: many lines: 1024 are sent (Host is one), more are refused
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local function ask(port, n)
                local many = {}
                for i = 1, n do
                    many[i] = i
                end
                local res, err = client.request_uri({
                    host = "127.0.0.1", port = port, headers = { ["X-Many"] = many, Host = "h" },
                })
                local _, lines = (res and res.body or ""):gsub("\nX%-Many: %d", "")
                ngx.say(res and res.status, " ", lines, " ", err)
            end
            ask($TEST_NGINX_RAND_PORT_1, 31)
            ask($TEST_NGINX_RAND_PORT_1, 32)
            ask($TEST_NGINX_RAND_PORT_1, 33)
            ask($TEST_NGINX_RAND_PORT_3, 1023)
            ask($TEST_NGINX_RAND_PORT_3, 1024)
            ask($TEST_NGINX_RAND_PORT_1, 1)
        }
    }
--- tcp_listen: $TEST_NGINX_RAND_PORT_3
--- tcp_query eval
"GET / HTTP/1.1\r\nHost: h\r\n" . CORE::join("", map { "X-Many: $_\r\n" } 1 .. 1023) . "Connection: close\r\n\r\n"
--- tcp_reply eval
"HTTP/1.1 204 No Content\r\n\r\n"
--- response_body
200 31 nil
200 32 nil
200 33 nil
204 0 nil
nil 0 more than 1024 request header lines
200 1 nil
