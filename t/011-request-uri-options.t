# What request_uri(opts) takes: bodies, queries, keepalive, and values of a wrong type.
use Test::Nginx::Socket 'no_plan';
use NhfcTest;
use NhfcUpstream;

no_long_string();
run_tests();

__DATA__

=== TEST 1: case 47, a body that is a number or an array
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            for _, body in ipairs({ 42, 0.5, { "a", "bc", 7 }, {} }) do
                local res = assert(client.request_uri({
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, method = "POST", body = body,
                }))
                ngx.say(res.body:match("Content%-Length: (%d+)"), " [", res.body:match("\r\n\r\n(.*)"), "]")
            end
        }
    }
--- response_body
2 [42]
3 [0.5]
4 [abc7]
0 []



=== TEST 2: case 47, bodies of other types are refused before a byte is sent
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            for _, body in ipairs({ true, print, { a = 1 }, { "a", true }, { {} }, coroutine.create(function() end) }) do
                ngx.say(client.request_uri({
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_3, method = "POST", body = body,
                }))
            end
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
--- response_body_like
^nil.*body.* not boolean
nil.*a body in pieces needs Content-Length or Transfer-Encoding: chunked
nil.*body.*array
nil.*body.* not boolean
nil.*body.* not table
nil.*body.* not thread



=== TEST 3: case 49, query tables and strings
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local function target(path, query)
                local res = assert(client.request_uri({
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = path, query = query,
                }))
                ngx.say(res.body:match("^GET (%S+)"))
            end
            target("/p", { a = true })
            target("/p", { b = { "x", "y" }, c = false })
            target("/p", { ["k k"] = "v&=ü" })
            target("/p", {})
            target("/p", "a=1&b")
            target("/p", "?a=1")
            target("/p", "")
            target("/p?x=1", "y=2")
            target("/%41%2F", 7)
        }
    }
--- response_body
/p?a
/p?b=x&b=y
/p?k%20k=v%26%3D%C3%BC
/p
/p?a=1&b
/p?a=1
/p
/p?x=1&y=2
/%41%2F?7



=== TEST 4: case 59, keepalive as a table, or as anything that is not false
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local all = {
                { pool_size = 30, idle_timeout = 60000 }, {}, true, 5000, "yes",
                { pool = false, pool_size = false, idle_timeout = false },
                { pool_size = 0, idle_timeout = 0 }, { pool_size = "x", idle_timeout = {} },
                { pool_size = -1, idle_timeout = -1 }, { pool_size = 1.5, idle_timeout = 1e300 },
            }
            for _, keepalive in ipairs(all) do
                local res, err = client.request_uri({
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/connection", keepalive = keepalive,
                })
                ngx.say(res and res.body, " ", err)
            end
        }
    }
--- response_body
1:1 nil
1:2 nil
1:3 nil
1:4 nil
1:5 nil
1:6 nil
1:7 nil
1:8 nil
1:9 nil
1:10 nil



=== TEST 5: case 104, nobody listens
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            ngx.say(client.request_uri({ host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_3 }))
            ngx.say(client.request_uri({ host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_3, keepalive = {} }))
        }
    }
--- response_body
nilconnection refused
nilconnection refused
--- no_error_log
[alert]
[crit]
[emerg]
exited on signal



=== TEST 6: options of a wrong type are errors, never exceptions
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local function try(...)
                local ok, res, err = pcall(client.request_uri, ...)
                ngx.say(ok, " ", res, " ", type(err))
            end
            try()
            try("http://127.0.0.1/")
            try(7)
            try({})
            try({ host = 7 })
            try({ host = "" })
            for _, port in ipairs({ 0, -1, 65536, 1.5, "x", {}, true, 0/0 }) do
                try({ host = "127.0.0.1", port = port })
            end
            for _, scheme in ipairs({ "ftp", "", 7, {} }) do
                try({ scheme = scheme, host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1 })
            end
            for _, name in ipairs({ "method", "path", "query", "headers", "body" }) do
                try({ host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, [name] = true })
            end
        }
    }
--- response_body eval
"true nil string\n" x 23



=== TEST 7: case 40, a scheme in any case; a port as text; client:request_uri
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local options = { scheme = "HTTP", host = "127.0.0.1", port = "$TEST_NGINX_RAND_PORT_1", path = "/connection" }
            ngx.say(client.request_uri(options).body)
            ngx.say(client:request_uri(options).body)
        }
    }
--- response_body
1:1
2:1



=== TEST 8: what is not supported yet says so and connects nowhere
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local port = $TEST_NGINX_RAND_PORT_1
            local function try(options)
                local res, err = client.request_uri(options)
                ngx.say(res, " ", err)
            end
            try({ scheme = "https", host = "127.0.0.1", port = port })
            try({ host = "127.0.0.1", port = port, proxy_opts = { http_proxy = "http://127.0.0.1:1/" } })
            ngx.say(assert(client.request_uri({ host = "127.0.0.1", port = port, path = "/connection" })).body)
        }
    }
--- response_body
nil TLS is not built in
nil proxies are not supported yet
1:1



=== TEST 9: case 107, the caller's tables are unchanged, and unknown keys ignored
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local guard = { __newindex = function(_, key) error("written: " .. tostring(key)) end }
            local headers = setmetatable({ ["X-A"] = setmetatable({ "1", "2" }, guard), ["x-n"] = 3 }, guard)
            local query = setmetatable({ a = "1" }, guard)
            local keepalive = setmetatable({ pool = "p" }, guard)
            local options = setmetatable({
                host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/p", query = query, headers = headers,
                keepalive = keepalive, body = { "a", 1 }, ssl_verify = false, version = 1.1, nothing = {},
            }, guard)
            local function count(t)
                local n = 0
                for _ in pairs(t) do n = n + 1 end
                return n
            end
            for _ = 1, 2 do
                assert(client.request_uri(options))
            end
            ngx.say(count(options), " ", count(headers), " ", count(query), " ", count(keepalive), " ", #options.body)
            ngx.say(headers["X-A"][1], headers["X-A"][2], " ", headers["x-n"], " ", options.body[2])
        }
    }
--- response_body
10 2 1 1 2
12 3 1



=== TEST 10: options that yield while they are read do not mix with those of others
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local function slow(values)
                return setmetatable({}, { __index = function(_, key)
                    ngx.sleep(0.001 * math.random(3))
                    return values[key]
                end })
            end
            local function one(i)
                local res, err = client.request_uri(slow({
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, method = "POST", path = "/p" .. i, body = "b" .. i,
                    headers = { Host = "h" .. i }, keepalive = slow({ pool = "p" .. i }),
                }))
                return res and res.body:gsub("\r", "") == "POST /p" .. i .. " HTTP/1.1\nHost: h" .. i
                       .. "\nContent-Length: " .. #("b" .. i) .. "\nConnection: keep-alive\n\nb" .. i or err
            end
            local threads, good = {}, 0
            for i = 1, 12 do
                threads[i] = ngx.thread.spawn(one, i)
            end
            for i = 1, 12 do
                good = good + (select(2, ngx.thread.wait(threads[i])) == true and 1 or 0)
            end
            ngx.say(good)
        }
    }
--- response_body
12
