# One object and several users: other requests, other light threads. And Lua files that do not fit.
use Test::Nginx::Socket 'no_plan';
use NhfcTest;
use NhfcUpstream qw(deaf);

no_long_string();

# shown(f, ...) is what f returns, or throws, as a text.
my $helpers = <<'LUA';
    init_by_lua_block {
        function shown(f, ...)
            local ok, res, err = pcall(f, ...)
            return (ok and "" or "thrown: ") .. tostring(res) .. " " .. tostring(err)
        end
    }
LUA

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value(http_config => $helpers . ($block->http_config // ''));
});

run_tests();

__DATA__

=== TEST 1: case 95, an object that another request holds, connected
--- config
    location = /other {
        content_by_lua_block {
            local httpc = shared
            ngx.say("request: ", shown(httpc.request, httpc, { path = "/" }))
            ngx.say("set_keepalive: ", shown(httpc.set_keepalive, httpc))
            ngx.say("close: ", shown(httpc.close, httpc))
            ngx.say("connect: ", shown(httpc.connect, httpc, "127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            ngx.say("request_uri: ", shown(httpc.request_uri, httpc, "http://127.0.0.1:$TEST_NGINX_RAND_PORT_1/"))
        }
    }
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            shared = httpc
            local res = assert(client.request_uri({ host = "127.0.0.1", port = tonumber(ngx.var.server_port), path = "/other" }))
            ngx.print(res.body)
            ngx.say(assert(httpc:request({ path = "/connection" })):read_body(), " ", httpc:set_keepalive())
        }
    }
--- response_body
request: nil object belongs to another request
set_keepalive: nil object belongs to another request
close: nil object belongs to another request
connect: nil object belongs to another request
request_uri: nil object belongs to another request
1:1 1
--- no_error_log
[error]
[alert]
[crit]
[emerg]
exited on signal



=== TEST 2: case 95, a response that another request reads
--- config
    location = /other {
        content_by_lua_block {
            local res = shared
            ngx.say("reader: ", shown(res.body_reader))
            ngx.say("read_body: ", shown(res.read_body, res))
            ngx.say("read_trailers: ", shown(res.read_trailers, res))
            ngx.say(res.status, " ", res.headers["Content-Length"])
        }
    }
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            shared = assert(httpc:request({ path = "/connection" }))
            local res = assert(client.request_uri({ host = "127.0.0.1", port = tonumber(ngx.var.server_port), path = "/other" }))
            ngx.print(res.body)
            ngx.say(shared:read_body(), " ", httpc:set_keepalive())
        }
    }
--- response_body
reader: nil object belongs to another request
read_body: nil object belongs to another request
read_trailers: nil the body has not been read to its end
200 3
1:1 1



=== TEST 3: case 95, an object whose request waits on it, and one whose request is over
--- config
    location = /other {
        content_by_lua_block {
            local httpc = shared
            ngx.say("request: ", shown(httpc.request, httpc, { path = "/" }))
            ngx.say("close: ", shown(httpc.close, httpc))
        }
    }
    location = /over {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            left = client.new()
            assert(left:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            left_res = assert(left:request({ path = "/connection" }))
            ngx.say("over")
        }
    }
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local function ask(path)
                ngx.print(assert(client.request_uri({ host = "127.0.0.1", port = tonumber(ngx.var.server_port), path = path })).body)
            end
            shared = client.new()
            assert(shared:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            local waiting = ngx.thread.spawn(function()
                return assert(shared:request({ path = "/raw", query = { pause = 60, hold = 1, piece = {
                    "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 204 No Content\r\n\r\n",
                } } })).status
            end)
            ask("/other")
            ngx.say(select(2, ngx.thread.wait(waiting)), " ", shared:set_keepalive())

            ask("/over")
            local refused = 0
            for _, call in ipairs({
                { left.request, left, { path = "/" } }, { left.set_keepalive, left }, { left_res.read_body, left_res },
                { left_res.body_reader },
            }) do
                local ok, res, err = pcall(unpack(call))
                refused = refused + (ok and res == nil and type(err) == "string" and 1 or 0)
            end
            ngx.say(refused)
        }
    }
--- response_body_like
^request: nil (object belongs to another request|socket busy)
close: nil object belongs to another request
204 1
over
4



=== TEST 4: case 96, a second light thread while the first waits for the head
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            local first = ngx.thread.spawn(function()
                return assert(httpc:request({ path = "/raw", query = { pause = 60, hold = 1, piece = {
                    "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
                } } })):read_body()
            end)
            ngx.say("request: ", shown(httpc.request, httpc, { path = "/" }))
            ngx.say("set_keepalive: ", shown(httpc.set_keepalive, httpc))
            ngx.say("connect: ", shown(httpc.connect, httpc, "127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            ngx.say("request_uri: ", shown(httpc.request_uri, httpc, "http://127.0.0.1:$TEST_NGINX_RAND_PORT_1/"))
            ngx.say("set_timeouts: ", shown(httpc.set_timeouts, httpc, 1000, 1000, 1000))
            ngx.say("get_reused_times: ", shown(httpc.get_reused_times, httpc))
            ngx.say("first: ", select(2, ngx.thread.wait(first)), " ", httpc:set_keepalive())
        }
    }
--- response_body
request: nil socket busy
set_keepalive: nil socket busy
connect: nil socket busy
request_uri: nil socket busy
set_timeouts: true nil
get_reused_times: 0 nil
first: ok 1



=== TEST 5: case 96, a second light thread while the first waits for the body
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            for _, how in ipairs({ "reader", "read_body", "preread_body" }) do
                local httpc = client.new()
                assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
                local params = { path = "/raw", preread_body = how == "preread_body", query = { pause = 60, hold = 1, piece = {
                    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", "ok",
                } } }
                local res
                local first = ngx.thread.spawn(function()
                    res = assert(httpc:request(params))
                    return how == "reader" and res.body_reader() or res:read_body()
                end)
                ngx.sleep(0.02)
                if res then
                    ngx.say("reader: ", shown(res.body_reader), ", read_body: ", shown(res.read_body, res))
                end
                ngx.say("request: ", shown(httpc.request, httpc, { path = "/" }), ", set_keepalive: ", shown(httpc.set_keepalive, httpc))
                ngx.say("first: ", select(2, ngx.thread.wait(first)), " ", res:read_body(), " ", httpc:set_keepalive())
            end
        }
    }
--- response_body
reader: nil socket busy, read_body: nil socket busy
request: nil socket busy, set_keepalive: nil socket busy
first: ok  1
reader: nil socket busy, read_body: nil socket busy
request: nil socket busy, set_keepalive: nil socket busy
first: ok  1
request: nil socket busy, set_keepalive: nil socket busy
first: ok ok 1



=== TEST 6: case 96, while the first connects
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            httpc:set_timeout(100)
            local first = ngx.thread.spawn(function() return httpc:connect("127.0.0.1", $TEST_NGINX_DEAF_PORT) end)
            ngx.say("connect: ", shown(httpc.connect, httpc, "127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            ngx.say("request: ", shown(httpc.request, httpc, { path = "/" }))
            local ok, res, err = ngx.thread.wait(first)
            ngx.say("first: ", res, " ", err)
            ngx.say("connect: ", shown(httpc.connect, httpc, "127.0.0.1", $TEST_NGINX_RAND_PORT_1))
        }
    }
--- response_body
connect: nil socket busy
request: nil socket busy
first: nil timeout
connect: 1 nil



=== TEST 7: case 96, close ends what another light thread waits for
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local function closes(f)
                local httpc = client.new()
                local waiting = ngx.thread.spawn(f, httpc)
                ngx.sleep(0.02)
                ngx.print(httpc:close(), " ")
                local ok, res, err = ngx.thread.wait(waiting)
                ngx.say(res, " ", err, " ", httpc:close())
            end
            local head = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
            closes(function(httpc) return httpc:connect("127.0.0.1", $TEST_NGINX_DEAF_PORT) end)
            closes(function(httpc)
                assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
                return httpc:request({ path = "/silent" })
            end)
            closes(function(httpc)
                assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
                return httpc:request({ path = "/raw", preread_body = true, query = { hold = 1, piece = head } })
            end)
            closes(function(httpc)
                assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
                return assert(httpc:request({ path = "/raw", query = { hold = 1, piece = head } })).body_reader()
            end)
            closes(function(httpc)
                assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
                return assert(httpc:request({ path = "/raw", query = { hold = 1, piece = head } })):read_body()
            end)
            ngx.sleep(0.01)
        }
    }
--- response_body eval
"1 nil closed nilclosed\n" x 5
--- grep_error_log: upstream: client closed
--- grep_error_log_out eval
"upstream: client closed\n" x 4



=== TEST 8: case 98, what a request leaves open is closed when it ends, without the collector
--- config
    location = /leaves {
        content_by_lua_block {
            collectgarbage("stop")
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            local res = assert(httpc:request({ path = "/raw", query = { hold = 1, piece = "HTTP/1.1 200 OK\r\n\r\na" } }))
            httpc = client.new()
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            ngx.thread.spawn(function() httpc:request({ path = "/silent" }) end)
            ngx.sleep(0.01)
            ngx.say("ok")
            ngx.exit(200)
        }
    }
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            for _ = 1, 3 do
                ngx.print(assert(client.request_uri({
                    host = "127.0.0.1", port = tonumber(ngx.var.server_port), path = "/leaves",
                })).body)
            end
            ngx.sleep(0.05)
        }
    }
--- response_body eval
"ok\n" x 3
--- grep_error_log: upstream: client closed
--- grep_error_log_out eval
"upstream: client closed\n" x 6



=== TEST 9: Lua files of another version than the module
--- config
    location = /t {
        content_by_lua_block {
            require("resty.ngx_http_ffi_client.cdef").ABI = 4711
            local client = require "resty.ngx_http_ffi_client"
            ngx.say(client.new())
            ngx.say(client.request_uri({ host = "127.0.0.1", port = 1 }))
        }
    }
--- response_body_like
^nil.*ABI 2\b.*ABI 4711\b.*
nil.*ABI 2\b.*ABI 4711\b.*



=== TEST 10: another subsystem, and no nginx at all
--- config
    location = /t {
        content_by_lua_block {
            local path = package.searchpath and package.searchpath("resty.ngx_http_ffi_client", package.path)
            for _, ngx_table in ipairs({ { config = { subsystem = "stream" } }, false }) do
                local code = assert(loadfile(path))
                setfenv(code, setmetatable({ ngx = ngx_table or "none" }, { __index = _G }))
                local client = code()
                ngx.say(client.new())
                ngx.say(client.request_uri({ host = "127.0.0.1", port = 1 }))
            end
        }
    }
--- response_body_like
^nil.*http subsystem.*stream.*
nil.*http subsystem.*stream.*
nil.*http subsystem.*
nil.*http subsystem.*
