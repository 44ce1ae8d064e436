# What stats() says of the pools.
use Test::Nginx::Socket 'no_plan';
use NhfcTest;
use NhfcUpstream;

no_long_string();
worker_connections(256);

# show() prints every pool and the total; ask(port, options) makes one request on the upstream.
my $helpers = <<'LUA';
    init_by_lua_block {
        local function row(name, t)
            local closed = {}
            for reason, n in pairs(t.closed) do
                closed[#closed + 1] = reason .. "=" .. n
            end
            table.sort(closed)
            return name .. ": idle=" .. t.idle .. " busy=" .. t.busy .. " waiting=" .. t.waiting .. " opened=" .. t.opened
                   .. " reused=" .. t.reused .. " " .. table.concat(closed, " ")
        end
        function show()
            local stats = assert(require("resty.ngx_http_ffi_client").stats())
            local rows = {}
            for name, t in pairs(stats.pools) do
                rows[#rows + 1] = row(name, t)
            end
            table.sort(rows)
            rows[#rows + 1] = row("total", stats.total)
            local text = table.concat(rows, "\n"):gsub("127.0.0.1:%d+", "HOST")
            ngx.say((text:gsub(" *\n", "\n"):gsub(" *$", "")))
        end
        function raw(port, pool, head, more)
            local options = {
                host = "127.0.0.1", port = port, path = "/raw", keepalive = { pool = pool },
                query = { hold = 1, piece = head .. "\r\n\r\n" },
            }
            for k, v in pairs(more or {}) do
                options[k] = v
            end
            return require("resty.ngx_http_ffi_client").request_uri(options)
        end
    }
LUA

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value(http_config => $helpers . ($block->http_config // ''));
});

run_tests();

__DATA__

=== TEST 1: idle, busy, waiting, opened and reused connections of each pool; pools without a name go by their origin
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local port = $TEST_NGINX_RAND_PORT_1
            for _ = 1, 3 do
                assert(client.request_uri({ host = "127.0.0.1", port = port, path = "/connection", keepalive = {} }))
            end
            show()
            local options = { host = "127.0.0.1", port = port, pool = "p", pool_size = 1, backlog = 2 }
            local httpc = client.new()
            assert(httpc:connect(options))
            local threads = {}
            for i = 1, 2 do
                threads[i] = ngx.thread.spawn(function()
                    local waits = client.new()
                    assert(waits:connect(options))
                    waits:set_keepalive()
                end)
            end
            show()
            httpc:set_keepalive()
            ngx.thread.wait(threads[1])
            ngx.thread.wait(threads[2])
            show()
        }
    }
--- response_body
http://HOST: idle=1 busy=0 waiting=0 opened=1 reused=2
total: idle=1 busy=0 waiting=0 opened=1 reused=2
http://HOST: idle=1 busy=0 waiting=0 opened=1 reused=2
p: idle=0 busy=1 waiting=2 opened=1 reused=0
total: idle=1 busy=1 waiting=2 opened=2 reused=2
http://HOST: idle=1 busy=0 waiting=0 opened=1 reused=2
p: idle=1 busy=0 waiting=0 opened=1 reused=2
total: idle=2 busy=0 waiting=0 opened=2 reused=4



=== TEST 2: why connections were closed
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local port = $TEST_NGINX_RAND_PORT_1
            local good = "HTTP/1.1 200 OK\r\nContent-Length: 0"
            assert(raw(port, "caller_closes", good, { headers = { Connection = "close" } }))
            assert(raw(port, "peer_closes", good .. "\r\nConnection: close"))
            assert(raw(port, "peer_keep_alive", good .. "\r\nKeep-Alive: timeout=1"))
            assert(raw(port, "http_1_0", "HTTP/1.0 200 OK\r\nContent-Length: 0"))
            assert(raw(port, "body_until_close", "HTTP/1.1 200 OK", { query = { piece = "HTTP/1.1 200 OK\r\n\r\n" } }))
            assert(not raw(port, "invalid_response", "HTTP/1.1 200 OK\r\nContent-Length: x"))
            assert(not raw(port, "closed_by_peer", "", { query = { piece = "HTTP/1.1" } }))
            assert(not raw(port, "timeout", "", { path = "/silent", read_timeout = 20 }))
            assert(not raw(1, "connect_failed", ""))
            assert(raw(port, "max_requests", good, { keepalive = { pool = "max_requests", requests = 1 } }))
            assert(raw(port, "max_lifetime", good, { keepalive = { pool = "max_lifetime", time = 20 } }))
            assert(raw(port, "idle_timeout", good, { keepalive = { pool = "idle_timeout", idle_timeout = 20 } }))
            assert(raw(port, "closed_while_idle", "", { query = { piece = good .. "\r\n\r\n" } }))
            assert(raw(port, "unsolicited_bytes", "", { query = { hold = 1, piece = good .. "\r\n\r\nX" } }))
            local objects = {}
            for i = 1, 2 do
                objects[i] = client.new()
                assert(objects[i]:connect({ host = "127.0.0.1", port = port, pool = i == 1 and "aborted" or "evicted" }))
                assert(objects[i]:request({ path = "/connection", preread_body = true }))
            end
            assert(raw(port, "evicted", good, { keepalive = { pool = "evicted", pool_size = 1 } }))
            objects[1]:close()
            objects[2]:set_keepalive()
            -- What took the place of the evicted one stays.
            require("nhfc").wait_for(function() return client.stats().total.idle == 1 end)

            local stats, n, total = client.stats(), 0, 0
            for pool, t in pairs(stats.pools) do
                local reason, count = next(t.closed)
                if reason ~= pool or count ~= 1 or next(t.closed, reason) then
                    ngx.say(pool, ": ", reason, " ", count)
                end
                n = n + 1
            end
            for reason, count in pairs(stats.total.closed) do
                total = total + count
                if not stats.pools[reason] then
                    ngx.say(reason)
                end
            end
            ngx.say(n, " ", total)
        }
    }
--- response_body
16 16



=== TEST 3: in any phase, also where nothing was asked for yet
--- config
    location = /t {
        content_by_lua_block {
            show()
            ngx.ctx.held = require("resty.ngx_http_ffi_client").new()
            assert(ngx.ctx.held:connect({ host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, pool = "p" }))
            show()
        }
        log_by_lua_block {
            local stats = require("resty.ngx_http_ffi_client").stats()
            ngx.log(ngx.WARN, "stats: opened ", stats.total.opened, ";")
        }
    }
--- http_config
    init_worker_by_lua_block {
        local stats = require("resty.ngx_http_ffi_client").stats()
        ngx.log(ngx.WARN, "stats: opened ", stats.total.opened, " ", next(stats.pools), ";")
    }
--- response_body
total: idle=0 busy=0 waiting=0 opened=0 reused=0
p: idle=0 busy=1 waiting=0 opened=1 reused=0
total: idle=0 busy=1 waiting=0 opened=1 reused=0
--- grep_error_log eval: qr/stats: opened [^;]*;/
--- grep_error_log_out
stats: opened 0 nil;
stats: opened 1;



=== TEST 4: a pool that is called like an origin is shown together with it
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local port = $TEST_NGINX_RAND_PORT_1
            for _, pool in ipairs({ false, "http://127.0.0.1:" .. port, false }) do
                assert(client.request_uri({
                    host = "127.0.0.1", port = port, path = "/connection", keepalive = { pool = pool },
                }))
            end
            show()
        }
    }
--- response_body
http://HOST: idle=2 busy=0 waiting=0 opened=2 reused=1
total: idle=2 busy=0 waiting=0 opened=2 reused=1
