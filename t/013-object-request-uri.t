# httpc:request_uri(uri, params), the form of lua-resty-http, and parse_uri.
use Test::Nginx::Socket 'no_plan';
use NhfcTest;
use NhfcUpstream;

no_long_string();
run_tests();

__DATA__

=== TEST 1: the whole response; the connection is kept, unless keepalive is false
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local uri = "http://127.0.0.1:$TEST_NGINX_RAND_PORT_1/connection"
            local httpc = client.new()
            local res = assert(httpc:request_uri(uri))
            ngx.say(res.status, " ", res.reason, " ", res.body, " ", res.headers.content_length, " ", res.has_body)
            ngx.say(assert(httpc:request_uri(uri, {})).body)
            ngx.say(assert(client.new():request_uri(uri, { keepalive = true })).body)
            ngx.say(assert(client.new():request_uri(uri, { keepalive = false })).body)
            ngx.say(assert(client.new():request_uri(uri, { keepalive = false })).body)
        }
    }
--- response_body
200 OK 1:1 3 true
1:2
1:3
1:4
2:1



=== TEST 2: what is on the wire, with keepalive and without
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local uri = "http://127.0.0.1:$TEST_NGINX_RAND_PORT_1/p/q?a=1&b=%20"
            for _, keepalive in ipairs({ true, false }) do
                local res = assert(client.new():request_uri(uri, {
                    method = "PUT", body = "body", keepalive = keepalive, headers = { host = "h", ["X-A"] = { "1", "2" } },
                }))
                ngx.say((res.body:gsub("\r", "")))
            end
        }
    }
--- response_body
PUT /p/q?a=1&b=%20 HTTP/1.1
Host: h
X-A: 1
X-A: 2
Content-Length: 4
Connection: keep-alive

body
PUT /p/q?a=1&b=%20 HTTP/1.1
Host: h
X-A: 1
X-A: 2
Content-Length: 4
Connection: close

body



=== TEST 3: cases 38, 40 and 49, the parts of a URI, and params that replace them
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local at = "127.0.0.1:$TEST_NGINX_RAND_PORT_1"
            local function target(uri, params)
                local res, err = client.new():request_uri(uri, params)
                ngx.say(res and res.body:match("^GET (%S+) HTTP/1.1\r"), " ", err)
            end
            target("http://" .. at)
            target("HTTP://" .. at .. "/")
            target("Http://" .. at .. "?a=1")
            target("//" .. at .. "/relative")
            target("http://" .. at .. "/p#fragment?x")
            target("http://" .. at .. "#@127.0.0.2:1/")
            target("http://" .. at .. "/%41%2f/..//")
            target("http://" .. at .. "/a?b?c=/d")
            target("http://" .. at .. "/p?a=1", { query = { b = true } })
            target("http://" .. at .. "/p?a=1", { query = "?b=2" })
            target("http://" .. at .. "/p?a=1", { path = "/q" })
            target("http://" .. at .. "/p?a=1", { path = "/q", query = "c" })
        }
    }
--- response_body
/ nil
/ nil
/?a=1 nil
/relative nil
/p nil
/ nil
/%41%2f/..// nil
/a?b?c=/d nil
/p?b nil
/p?b=2 nil
/q?a=1 nil
/q?c nil



=== TEST 4: cases 36 and 38, URIs that are refused; the error does not hold them
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local at = "127.0.0.1:$TEST_NGINX_RAND_PORT_1"
            local all = {
                "", "secret", "127.0.0.1/secret", "ftp://127.0.0.1/secret", "http:/secret", "http://", "http:///secret",
                "http://secret:secret@" .. at .. "/", "http://secret@" .. at .. "/", "http://127.0.0.1\\@secret/",
                "http://127.0.0.1:0/secret", "http://127.0.0.1:65536/", "http://127.0.0.1:0x50/", "http://127.0.0.1:8 0/",
                "http://[::1/secret", "http://[]/", "http://[::1]secret/", "http://" .. at .. "/sec ret",
                "http://" .. at .. "/a\r\nX-Secret: 1", "http://" .. at .. "/?a=\n", "http://127.0.0.1 /", "http://a\tb/",
                "http://" .. at .. "/a\0secret", " http://" .. at .. "/",
            }
            local httpc = client.new()
            for i, uri in ipairs(all) do
                local res, err = httpc:request_uri(uri)
                if res or type(err) ~= "string" or err:lower():find("secret", 1, true) then
                    ngx.say(i, ": ", uri, ": ", res, " ", err)
                end
            end
            ngx.say(#all)
            ngx.say(assert(httpc:request_uri("http://" .. at .. "/connection")).body)
        }
    }
--- response_body
24
1:1



=== TEST 5: arguments of a wrong type are errors, never exceptions
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local uri = "http://127.0.0.1:$TEST_NGINX_RAND_PORT_1/"
            local httpc = client.new()
            local function try(...)
                local ok, res, err = pcall(httpc.request_uri, ...)
                ngx.say(ok, " ", res, " ", type(err))
            end
            try(httpc)
            try(httpc, nil, {})
            try(httpc, 7)
            try(httpc, {})
            try(httpc, uri, "params")
            try(httpc, uri, 7)
            try(nil, uri)
            try("x", uri)
            for _, name in ipairs({ "method", "path", "headers", "body" }) do
                try(httpc, uri, { [name] = true })
            end
        }
    }
--- response_body eval
"true nil string\n" x 12



=== TEST 6: case 61, the object has no connection after request_uri
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local uri = "http://127.0.0.1:$TEST_NGINX_RAND_PORT_1/connection"
            local httpc = client.new()
            ngx.say(assert(httpc:request_uri(uri)).body)
            ngx.say(httpc:get_reused_times())
            ngx.say(httpc:set_keepalive())
            ngx.say(httpc:close())
            ngx.say(assert(httpc:request_uri(uri)).body)
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            ngx.say(httpc:get_reused_times(), " ", httpc:set_keepalive())
        }
    }
--- response_body
1:1
nilclosed
nilclosed
nilclosed
1:2
2 1



=== TEST 7: the connection that the object had is closed
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            local old = assert(httpc:request({ path = "/raw", query = { hold = 1, piece = "HTTP/1.1 200 OK\r\n\r\nx" } }))
            ngx.say(assert(httpc:request_uri("http://127.0.0.1:$TEST_NGINX_RAND_PORT_1/connection")).body)
            ngx.say(old.body_reader())
        }
    }
--- response_body
1:1
nilclosed
--- error_log
upstream: client closed
--- no_error_log
[error]
[alert]
[crit]
[emerg]
exited on signal



=== TEST 8: case 59, keepalive arguments that are odd
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local all = {
                { keepalive = 5000 }, { keepalive = "no" }, { keepalive_timeout = 0 }, { keepalive_timeout = 1.5e9 },
                { keepalive_timeout = false, keepalive_pool = false }, { keepalive_pool = 0 }, { pool_size = false },
                { keepalive_timeout = "60000", keepalive_pool = "5" }, { keepalive_pool = -1, pool_size = {} },
                { keepalive_timeout = -1 },
            }
            for _, params in ipairs(all) do
                local res, err = client.new():request_uri("http://127.0.0.1:$TEST_NGINX_RAND_PORT_1/connection", params)
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



=== TEST 9: case 92, read_body and body_reader of its response
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local res = assert(client.new():request_uri("http://127.0.0.1:$TEST_NGINX_RAND_PORT_1/connection"))
            ngx.say(res:read_body(), " ", res:read_body(), " ", (res.body_reader()), " ", (res.body_reader()))
        }
    }
--- response_body
1:1 1:1 1:1 nil



=== TEST 10: case 107, params are unchanged
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local guard = { __newindex = function(_, key) error("written: " .. tostring(key)) end }
            local params = setmetatable({
                method = "POST", query = setmetatable({ a = 1 }, guard), headers = setmetatable({ ["x-a"] = "1" }, guard),
                body = "b", ssl_verify = false, ssl_server_name = "x", version = 1.1, unknown = true,
            }, guard)
            for _ = 1, 2 do
                local res = assert(client.new():request_uri("http://127.0.0.1:$TEST_NGINX_RAND_PORT_1/p?z", params))
                ngx.say(res.body:match("^[^\r]+"), " ", res.body:match("\nx%-a: ([^\r]+)"))
            end
            local names = {}
            for name in pairs(params) do names[#names + 1] = name end
            ngx.say(#names, " ", params.path, " ", params.headers["x-a"], " ", params.query.a)
        }
    }
--- response_body
POST /p?a=1 HTTP/1.1 1
POST /p?a=1 HTTP/1.1 1
8 nil 1 1



=== TEST 11: cases 76 and 104, refused; https and proxies are not there yet
--- http_config
    nhfc_system_resolver off;
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            ngx.say(httpc:request_uri("http://127.0.0.1:$TEST_NGINX_RAND_PORT_3/"))
            ngx.say(httpc:request_uri("https://127.0.0.1:$TEST_NGINX_RAND_PORT_1/"))
            ngx.say(httpc:request_uri("http://name.test/"))
            ngx.say(httpc:request_uri("http://127.0.0.1:$TEST_NGINX_RAND_PORT_1/", { proxy_opts = {} }))
            ngx.say(assert(httpc:request_uri("http://localhost:$TEST_NGINX_RAND_PORT_1/connection")).body)
        }
    }
--- response_body
nilconnection refused
nilTLS is not built in
nilno resolver defined
nilproxies are not supported yet
1:1



=== TEST 12: parse_uri, as a function and as a method
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local function parts(uri, ...)
                local all, err = client.parse_uri(nil, uri, ...)
                ngx.say(all and table.concat(all, " | ") .. ";" or err)
            end
            parts("http://a.test")
            parts("http://a.test?x=1")
            parts("HTTP://A.test:8080/p/q?x=1#f")
            parts("HTTP://A.test:8080/p/q?x=1#f", true)
            parts("HTTP://A.test:8080/p/q?x=1#f", false)
            parts("https://a.test/", false)
            parts("https://a.test:/p")
            parts("http://[::1]:81/p")
            parts("//a.test/p")
            parts("a.test/p")
            ngx.say(client.new():parse_uri("http://a.test/p")[4])
        }
    }
--- response_body
http | a.test | 80 | /;
http | a.test | 80 | /?x=1;
http | A.test | 8080 | /p/q?x=1;
http | A.test | 8080 | /p/q?x=1;
http | A.test | 8080 | /p/q | x=1;
https | a.test | 443 | / | ;
https | a.test | 443 | /p;
http | [::1] | 81 | /p;
http | a.test | 80 | /p;
bad uri: no scheme
/p



=== TEST 13: case 40, no scheme and no request
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local answer
            assert(ngx.timer.at(0, function()
                local res, err = client.new():request_uri("//127.0.0.1:$TEST_NGINX_RAND_PORT_1/")
                answer = tostring(res) .. " " .. tostring(err)
            end))
            while not answer do
                ngx.sleep(0.005)
            end
            ngx.say(answer)
        }
    }
--- response_body_like: ^nil bad uri: .*
