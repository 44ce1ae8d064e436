# For how long a connection may be kept: what the peer says, how many requests it serves, how old it gets.
use Test::Nginx::Socket 'no_plan';
use NhfcTest;
use NhfcUpstream;

no_long_string();

# $TEST_NGINX_RAND_PORT_3 says how long it keeps a connection: with the argument "v" as it is, or /nginx as nginx says it.
my $upstream = <<'CONF';
    server {
        listen 127.0.0.1:$TEST_NGINX_RAND_PORT_3;
        keepalive_requests 1000;
        location /nginx {
            keepalive_timeout 75s 2s;
            return 200 "$connection_requests";
        }
        location / {
            content_by_lua_block {
                local text = ngx.var.connection_requests
                ngx.header["Keep-Alive"] = ngx.req.get_uri_args().v
                ngx.header.content_length = #text
                ngx.print(text)
            }
        }
    }
CONF

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value(http_config => $upstream . ($block->http_config // ''));
});

run_tests();

__DATA__

=== TEST 1: case 58, a second or less is too short for the pool; what is no number means nothing
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local function again(value)
                for i = 1, 2 do
                    local res = assert(client.request_uri({
                        host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_3, query = { v = value },
                        keepalive = { pool = value, idle_timeout = i == 1 and 0 or nil },
                    }))
                    ngx.print(res.body, i == 1 and " " or "; ", i == 1 and "" or value)
                end
                ngx.say()
            end
            for _, value in ipairs({
                "timeout=1", "timeout=0", "timeout=9, max=0", "TIMEOUT = 1", "timeout=30", "timeout=30, max=9", "timeout=abc",
                "timeout", "timeout=-1", "timeout=1s", "max=1",
            }) do
                again(value)
            end
        }
    }
--- response_body
1 1; timeout=1
1 1; timeout=0
1 1; timeout=9, max=0
1 1; TIMEOUT = 1
1 2; timeout=30
1 2; timeout=30, max=9
1 2; timeout=abc
1 2; timeout
1 2; timeout=-1
1 2; timeout=1s
1 2; max=1



=== TEST 2: case 58, one second less than the peer says, also when the caller's idle time is longer or has no end
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local function ask(idle)
                return (assert(client.request_uri({
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_3, path = "/nginx",
                    keepalive = { pool = "p" .. idle, idle_timeout = idle },
                })).body)
            end
            ngx.say(ask(0), " ", ask(60000), " ", ask(0), " ", ask(60000))
            ngx.sleep(1.1)
            ngx.say(ask(0), " ", ask(60000))
        }
    }
--- response_body
1 1 2 2
1 1



=== TEST 3: case 58, the caller's idle time stays where it is shorter
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local function ask()
                return (assert(client.request_uri({
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_3, query = { v = "timeout=3600" },
                    keepalive = { idle_timeout = 300 },
                })).body)
            end
            ngx.print(ask(), " ", ask(), " ")
            ngx.sleep(0.4)
            ngx.say(ask())
        }
    }
--- response_body
1 2 1



=== TEST 4: case 58, an object goes on with a connection that the pool does not take
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_3))
            for _, value in ipairs({ "timeout=1", "timeout=0", "timeout=30" }) do
                ngx.print(assert(httpc:request({ query = { v = value } })):read_body(), " ")
            end
            ngx.say(httpc:set_keepalive())
            for _, value in ipairs({ "timeout=30", "timeout=1" }) do
                assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_3))
                ngx.print(httpc:get_reused_times(), " ", assert(httpc:request({ query = { v = value } })):read_body(), " ")
                ngx.say(httpc:set_keepalive())
            end
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_3))
            ngx.say(httpc:get_reused_times())
        }
    }
--- response_body
1 2 3 1
1 4 1
2 5 2connection must be closed
0



=== TEST 5: so many requests a connection: closed behind the last one, not pooled
--- http_config
    nhfc_keepalive_requests 3;
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local function several(n, ask)
                local seen = {}
                for i = 1, n do
                    seen[i] = ask()
                end
                ngx.say(table.concat(seen, " "))
            end
            local function native(keepalive)
                return function()
                    return assert(client.request_uri({
                        host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_3, keepalive = keepalive,
                    })).body
                end
            end
            several(7, native({}))
            several(5, native({ pool = "two", requests = 2 }))
            several(3, native({ pool = "one", requests = 1 }))
            several(4, native({ pool = "odd", requests = 0 }))
            local httpc, uri = client.new(), "http://127.0.0.1:$TEST_NGINX_RAND_PORT_3/"
            several(5, function()
                return assert(httpc:request_uri(uri, { pool = "object", keepalive_requests = 2 })).body
            end)
            for i = 1, 3 do
                assert(httpc:connect({
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_3, pool = "held", keepalive_requests = i == 1 and 2 or 9,
                }))
                ngx.print(httpc:get_reused_times(), " ", assert(httpc:request({})):read_body(), " ")
                ngx.say(httpc:set_keepalive())
            end
        }
    }
--- response_body
1 2 3 1 2 3 1
1 2 1 2 1
1 1 1
1 2 3 1
1 2 1 2 1
0 1 1
1 2 2connection must be closed
0 1 1



=== TEST 6: without a limit, and what an object holds has none
--- http_config
    nhfc_keepalive_requests 0;
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local last
            for i = 1, 1001 do
                last = assert(client.request_uri({
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/connection", keepalive = {},
                })).body
            end
            ngx.say(last)
            local httpc = client.new()
            assert(httpc:connect({ host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_3, pool = "p", keepalive_requests = 1 }))
            for _ = 1, 3 do
                ngx.print(assert(httpc:request({})):read_body(), " ")
            end
            ngx.say(httpc:set_keepalive())
        }
    }
--- response_body
1:1001
1 2 3 2connection must be closed



=== TEST 7: so long a life, also of a connection that is idle and would never expire
--- http_config
    nhfc_keepalive_time 400ms;
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local function ask(keepalive)
                return assert(client.request_uri({
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_3, keepalive = keepalive,
                })).body
            end
            local function both()
                return ask({ idle_timeout = 0 }), " ", ask({ pool = "long", time = 60000 })
            end
            ngx.say(both())
            ngx.say(both())
            local httpc = client.new()
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_3, { pool = "held", keepalive_time = 50 }))
            ngx.print(assert(httpc:request({})):read_body(), " ")
            ngx.sleep(0.5)
            ngx.print(assert(httpc:request({})):read_body(), " ")
            ngx.say(httpc:set_keepalive())
            ngx.say(both())
        }
    }
--- response_body
1 1
2 2
1 2 2connection must be closed
1 3



=== TEST 8: 1000 requests without directives
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local seen = {}
            for i = 1, 1001 do
                seen[i] = assert(client.request_uri({
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/connection", keepalive = {},
                })).body
            end
            ngx.say(seen[999], " ", seen[1000], " ", seen[1001])
        }
    }
--- response_body
1:999 1:1000 2:1



=== TEST 9: how long connections live is the worker's
--- config
    location = /t { nhfc_keepalive_time 1s; }
--- must_die
--- suppress_stderr
--- error_log
[emerg]
"nhfc_keepalive_time" directive is not allowed here
