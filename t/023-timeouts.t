# Every wait has a timeout, and each is reported as "timeout".
use Test::Nginx::Socket 'no_plan';
use NhfcTest;
use NhfcUpstream qw(deaf);

no_long_string();

# within(ms, f, ...) shows what f returns, and whether it took about so long: not less, and not so much longer that it
# could be anything else that ends a wait here. (Peers are silent for 1.5 s at least, other timeouts have 5 s and more.)
my $helpers = <<'LUA';
    init_by_lua_block {
        function within(ms, f, ...)
            ngx.update_time()
            local start = ngx.now()
            local res, err, partial = f(...)
            ngx.update_time()
            local took = (ngx.now() - start) * 1000
            ngx.say(type(res) == "table" and res.status or res, " ", err, partial and " " .. partial or "", " ",
                    took >= ms - 2 and took < ms + 1000 or took)
        end
    }
LUA

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value(http_config => $helpers . ($block->http_config // ''));
});

run_tests();

__DATA__

=== TEST 1: case 104, while the peer does not answer the connection request
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local port = $TEST_NGINX_DEAF_PORT
            within(100, client.request_uri, { host = "127.0.0.1", port = port, connect_timeout = 100 })
            within(100, client.request_uri, { host = "127.0.0.1", port = port, timeout = 100 })
            within(100, client.request_uri, { host = "127.0.0.1", port = port, deadline = 100 })
            local httpc = client.new()
            httpc:set_timeouts(100, 5000, 5000)
            within(100, httpc.connect, httpc, { host = "127.0.0.1", port = port })
            within(0, httpc.request, httpc, { path = "/" })
            within(100, httpc.request_uri, httpc, "http://127.0.0.1:" .. port .. "/")
            httpc:set_timeouts()
            within(100, httpc.connect, httpc, { host = "127.0.0.1", port = port, deadline = 100 })
        }
    }
--- response_body
nil timeout true
nil timeout true
nil timeout true
nil timeout true
nil closed true
nil timeout true
nil timeout true
--- no_error_log
[error]
[alert]
[crit]
[emerg]
exited on signal



=== TEST 2: case 104, while the peer takes no more of the request
--- http_config
    server {
        listen 127.0.0.1:$TEST_NGINX_RAND_PORT_3;
        client_max_body_size 0;
        location / { content_by_lua_block { ngx.sleep(1.5) } }
    }
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local body = ("x"):rep(20000000)
            local target = { host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_3, method = "POST", body = body }
            local function ask(times)
                times.host, times.port, times.method, times.body = "127.0.0.1", $TEST_NGINX_RAND_PORT_3, "POST", body
                within(100, client.request_uri, times)
            end
            ask({ send_timeout = 100 })
            ask({ timeout = 100 })
            ask({ deadline = 100 })
            local httpc = client.new()
            httpc:set_timeouts(5000, 100, 5000)
            assert(httpc:connect(target))
            within(100, httpc.request, httpc, target)
        }
    }
--- response_body
nil timeout true
nil timeout true
nil timeout true
nil timeout true



=== TEST 3: case 104, while the response does not begin
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local function ask(times)
                times.host, times.port, times.path = "127.0.0.1", $TEST_NGINX_RAND_PORT_1, "/silent"
                within(100, client.request_uri, times)
            end
            ask({ read_timeout = 100 })
            ask({ timeout = 100 })
            ask({ timeout = 5000, read_timeout = 100 })
            ask({ deadline = 100 })
            ask({ read_timeout = 99.5 })
            local httpc = client.new()
            httpc:set_timeouts(5000, 5000, 100)
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            within(100, httpc.request, httpc, { path = "/silent" })
            httpc:set_timeout(100)
            within(100, httpc.request_uri, httpc, "http://127.0.0.1:$TEST_NGINX_RAND_PORT_1/silent")
            httpc:set_timeout()
            within(100, httpc.request_uri, httpc, "http://127.0.0.1:$TEST_NGINX_RAND_PORT_1/silent", { deadline = 100 })
            ngx.sleep(0.01)
        }
    }
--- response_body eval
"nil timeout true\n" x 8
--- grep_error_log: upstream: client closed
--- grep_error_log_out eval
"upstream: client closed\n" x 8
--- no_error_log
[error]
[alert]
[crit]
[emerg]
exited on signal



=== TEST 4: in the middle of the head
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            for _, piece in ipairs({ "H", "HTTP/1.1 200 OK\r\nX-A: b", "HTTP/1.1 200 OK\r\nX-A: b\r\n\r", "HTTP/1.1 100 Continue\r\n\r\n" }) do
                within(100, client.request_uri, {
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/raw", read_timeout = 100,
                    query = { piece = piece, hold = 1 },
                })
            end
        }
    }
--- response_body eval
"nil timeout true\n" x 4



=== TEST 5: case 90, in the middle of the body
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            for _, bytes in ipairs({ "Content-Length: 10\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", "\r\nhello" }) do
                local query = { piece = "HTTP/1.1 200 OK\r\n" .. bytes, hold = 1 }
                within(100, client.request_uri, {
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/raw", read_timeout = 100, query = query,
                })
                local httpc = client.new()
                httpc:set_timeouts(5000, 5000, 100)
                assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
                within(100, httpc.request, httpc, { path = "/raw", query = query, preread_body = true })
                assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
                local res = assert(httpc:request({ path = "/raw", query = query }))
                within(100, res.read_body, res)
                assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
                res = assert(httpc:request({ path = "/raw", query = query }))
                within(0, res.body_reader)
                within(100, res.body_reader)
                within(0, res.body_reader)
                within(0, httpc.set_keepalive, httpc)
            end
        }
    }
--- response_body eval
"nil timeout true
nil timeout true
nil timeout hello true
hello nil true
nil timeout true
nil timeout true
nil closed true
" x 3



=== TEST 6: case 87, the read timeout is for a silence, the deadline for everything
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local pieces = { "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n", "1", "2", "3", "4", "5", "6", "7", "8" }
            local query = { pause = 100, piece = pieces }
            local target = { host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/raw", query = query, read_timeout = 500 }
            within(800, client.request_uri, target)
            target.deadline = 600
            within(600, client.request_uri, target)
            local httpc = client.new()
            httpc:set_timeout(500)
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            local res
            within(0, function()
                res = assert(httpc:request({ path = "/raw", query = query, deadline = 350 }))
                return 1
            end)
            within(350, res.read_body, res)
        }
    }
--- response_body_like
^200 nil true
nil timeout true
1 nil true
nil timeout 12?3? true



=== TEST 7: case 105, forms of set_timeouts and set_timeout
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            local function try(name, ...)
                local ok, res, err = pcall(httpc[name], httpc, ...)
                assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
                ngx.say(ok, " ", res, " ", err, " ", assert(httpc:request({ path = "/connection" })):read_body())
                assert(httpc:set_keepalive())
            end
            try("set_timeouts", 5000)
            try("set_timeouts", 5000, nil, nil)
            try("set_timeouts")
            try("set_timeouts", 0, 0, 0)
            try("set_timeouts", 1500.5, 2000.25, 1e300)
            try("set_timeouts", -1, 0/0, "5000")
            try("set_timeouts", "x", {}, true)
            try("set_timeouts", 1000, 2700000, 2700000)
            try("set_timeout", 5000)
            try("set_timeout")
            try("set_timeout", 0)
            try("set_timeout", false)
            try("set_timeout", 2147483648)
        }
    }
--- response_body eval
CORE::join("", map { "true true nil 1:$_\n" } 1 .. 13)



=== TEST 8: case 105, nil and 0 stand for the default in force
--- config
    lua_socket_read_timeout 100ms;
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            local function ask(...)
                httpc:set_timeouts(...)
                assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
                within(100, httpc.request, httpc, { path = "/silent" })
            end
            ask()
            ask(5000, 5000)
            ask(5000, 5000, 0)
            ask(nil, nil, nil)
            ask(5000, 5000, -5)
            httpc:set_timeouts(1, 1, 5000)
            httpc:set_timeout(0)
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            within(100, httpc.request, httpc, { path = "/silent" })
            within(100, client.request_uri, { host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/silent", read_timeout = 0 })
        }
    }
--- response_body eval
"nil timeout true\n" x 7



=== TEST 9: case 85, set_timeouts between two requests, and while a body comes
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            httpc:set_timeouts(5000, 5000, 5000)
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            assert(httpc:request({ path = "/connection" })):read_body()
            httpc:set_timeouts(5000, 5000, 100)
            within(100, httpc.request, httpc, { path = "/silent" })

            httpc:set_timeouts(5000, 5000, 300)
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            local res = assert(httpc:request({ path = "/raw", query = { pause = 600, hold = 1, piece = {
                "HTTP/1.1 200 OK\r\n\r\na", "b",
            } } }))
            within(0, res.body_reader)
            httpc:set_timeouts(5000, 5000, 5000)
            within(400, res.body_reader)
            httpc:set_timeouts(5000, 5000, 100)
            within(100, res.body_reader)
        }
    }
--- response_body
nil timeout true
a nil true
b nil true
nil timeout true



=== TEST 10: case 54, an answer that comes too late reaches nobody
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local late = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate"
            for _ = 1, 3 do
                local res, err = client.request_uri({
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/raw", read_timeout = 20, keepalive = {},
                    query = { pause = 60, piece = { "HTTP/1.1 100 Continue\r\n\r\n", late } },
                })
                ngx.print(res, " ", err, " ")
                for _ = 1, 4 do
                    ngx.print(assert(client.request_uri({
                        host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/connection", keepalive = {},
                    })).body, " ")
                    ngx.sleep(0.02)
                end
                ngx.say()
            end
        }
    }
--- response_body eval
"nil timeout 1:1 1:2 1:3 1:4 \nnil timeout 2:1 2:2 2:3 2:4 \nnil timeout 3:1 3:2 3:3 3:4 \n"
