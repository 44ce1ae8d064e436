# Pools with a backlog: no more connections than the size, and a queue for those who come later.
use Test::Nginx::Socket 'no_plan';
use NhfcTest;
use NhfcUpstream qw(deaf);

no_long_string();
worker_connections(256);

# at(port, more) gives options; connect(options) an object or nil, err; use(httpc) makes one request and says on which of the upstream's
# connections.
my $helpers = <<'LUA';
    init_by_lua_block {
        function at(port, more)
            local options = { host = "127.0.0.1", port = port }
            for k, v in pairs(more) do
                options[k] = v
            end
            return options
        end
        function connect(options, ms)
            local httpc = require("resty.ngx_http_ffi_client").new()
            httpc:set_timeout(ms or 5000)
            local ok, err = httpc:connect(options)
            return ok and httpc, err
        end
        function use(httpc)
            return (assert(httpc:request({ path = "/connection", preread_body = true })).body)
        end
        wait_for = require("nhfc").wait_for
    }
LUA

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value(http_config => $helpers . ($block->http_config // ''));
});

run_tests();

__DATA__

=== TEST 1: case 60, the second connect waits and gets the connection, the third is refused
--- config
    location = /t {
        content_by_lua_block {
            local options = at($TEST_NGINX_RAND_PORT_1, { pool = "p", pool_size = 1, backlog = 1 })
            local first = assert(connect(options))
            use(first)
            local got
            local thread = ngx.thread.spawn(function()
                local httpc = assert(connect(options))
                got = httpc:get_reused_times() .. " " .. use(httpc)
                httpc:set_keepalive()
            end)
            ngx.say(connect(options))
            ngx.sleep(0.02)
            ngx.say(got)
            ngx.say(first:set_keepalive())
            ngx.thread.wait(thread)
            ngx.say(got)
            ngx.say(use(assert(connect(options))))
        }
    }
--- response_body
niltoo many waiting connect operations
nil
1
1 1:2
1:3



=== TEST 2: case 60, a wait longer than the connect timeout ends with "timeout", and frees its place
--- config
    location = /t {
        content_by_lua_block {
            local options = at($TEST_NGINX_RAND_PORT_1, { pool = "p", pool_size = 1, backlog = 1 })
            local first = assert(connect(options))
            for _ = 1, 2 do
                ngx.update_time()
                local start = ngx.now()
                local httpc, err = connect(options, 60)
                ngx.update_time()
                ngx.say(httpc, " ", err, " ", ngx.now() - start >= 0.058)
            end
            ngx.say(first:close())
            ngx.say(use(assert(connect(options))))
        }
    }
--- response_body
nil timeout true
nil timeout true
1
1:1



=== TEST 3: case 60, the wait is part of the connect timeout
--- config
    location = /t {
        content_by_lua_block {
            local options = at($TEST_NGINX_DEAF_PORT, { pool = "p", pool_size = 1, backlog = 1 })
            local thread = ngx.thread.spawn(connect, options, 1000)
            ngx.update_time()
            local start = ngx.now()
            local _, err = connect(options, 1200)
            ngx.update_time()
            local ms = (ngx.now() - start) * 1000
            ngx.say(err, " ", ms >= 1198 and ms < 2100 or ms)
            local _, _, err = ngx.thread.wait(thread)
            ngx.say(err)
        }
    }
--- response_body
timeout true
timeout



=== TEST 4: case 60, first come, first served; a connection that is closed makes room for a fresh one
--- config
    location = /t {
        content_by_lua_block {
            local options = at($TEST_NGINX_RAND_PORT_1, { pool = "p", pool_size = 1, backlog = 4 })
            local first = assert(connect(options))
            use(first)
            local threads, seen = {}, {}
            for i = 1, 4 do
                threads[i] = ngx.thread.spawn(function()
                    local httpc = assert(connect(options))
                    seen[#seen + 1] = i .. ": " .. httpc:get_reused_times() .. " " .. use(httpc)
                    if i == 2 then
                        httpc:close()
                    else
                        httpc:set_keepalive()
                    end
                end)
            end
            ngx.sleep(0.01)
            ngx.say(#seen)
            first:close()
            for i = 1, 4 do
                ngx.thread.wait(threads[i])
                ngx.say(seen[i])
            end
        }
    }
--- response_body
0
1: 0 2:1
2: 1 2:2
3: 0 3:1
4: 1 3:2



=== TEST 5: case 60, a waiter whose request ends is gone from the queue
--- config
    location = /t {
        content_by_lua_block {
            local options = at($TEST_NGINX_RAND_PORT_1, { pool = "p", pool_size = 1, backlog = 1 })
            local first = assert(connect(options))
            local err
            ngx.timer.at(0, function()
                ngx.thread.spawn(connect, options)
                err = select(2, connect(options))
                ngx.exit(0)
            end)
            wait_for(function() return err end)
            ngx.say(err)
            local thread = ngx.thread.spawn(connect, options)
            first:set_keepalive()
            ngx.say(select(3, ngx.thread.wait(thread)))
        }
    }
--- response_body
too many waiting connect operations
nil



=== TEST 6: case 60, a waiter whose thread is killed keeps nobody from a connection
--- config
    location = /t {
        content_by_lua_block {
            local options = at($TEST_NGINX_RAND_PORT_1, { pool = "p", pool_size = 1, backlog = 2 })
            local first = assert(connect(options))
            local killed = ngx.thread.spawn(connect, options)
            local thread = ngx.thread.spawn(function() return use(assert(connect(options))) end)
            ngx.say(ngx.thread.kill(killed))
            first:set_keepalive()
            local _, at = ngx.thread.wait(thread)
            ngx.say(at:match("^%d:1$") and "served")
        }
    }
--- response_body
1
served



=== TEST 7: case 60, what a request leaves open makes room when it ends
--- config
    location = /t {
        content_by_lua_block {
            local options = at($TEST_NGINX_RAND_PORT_1, { pool = "p", pool_size = 1, backlog = 1 })
            local held, waits = false, false
            ngx.timer.at(0, function()
                assert(connect(options))
                held = true
                wait_for(function() return waits end)
            end)
            wait_for(function() return held end)
            local thread = ngx.thread.spawn(function() return use(assert(connect(options))) end)
            waits = true
            ngx.say(select(2, ngx.thread.wait(thread)))
        }
    }
--- response_body
1:1



=== TEST 8: case 60, one name for several origins: the size holds for all of them together
--- config
    location = /t {
        content_by_lua_block {
            local one = at($TEST_NGINX_RAND_PORT_1, { pool = "p", pool_size = 2, backlog = 1 })
            local two = at($TEST_NGINX_RAND_PORT_2, { pool = "p" })
            local a, b = assert(connect(one)), assert(connect(two))
            ngx.say(use(a), " ", use(b))
            local thread = ngx.thread.spawn(function()
                local httpc = assert(connect(two))
                ngx.say("other origin: ", use(httpc))
                httpc:set_keepalive()
            end)
            ngx.say(select(2, connect(one)))
            a:set_keepalive()
            ngx.thread.wait(thread)
            b:set_keepalive()
            local c = assert(connect(one))
            ngx.say("makes room: ", use(c))
            local d = assert(connect(two))
            ngx.say("still there: ", use(d))
        }
    }
--- response_body
1:1 2:1
too many waiting connect operations
other origin: 3:1
makes room: 4:1
still there: 2:2



=== TEST 9: case 60, request_uri waits, too: both of its forms
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local function several(ask)
                local threads, seen, distinct, failed = {}, {}, 0, 0
                for i = 1, 20 do
                    threads[i] = ngx.thread.spawn(ask)
                end
                for i = 1, 20 do
                    local _, res, err = ngx.thread.wait(threads[i])
                    local number = res and res.body:match("^%d+") or err
                    failed = failed + (res and 0 or 1)
                    distinct = distinct + (seen[number] and 0 or 1)
                    seen[number] = true
                end
                ngx.say(distinct, " ", failed, " ", seen["too many waiting connect operations"])
            end
            local uri = "http://127.0.0.1:$TEST_NGINX_RAND_PORT_1/connection"
            local function native(keepalive)
                return function()
                    return client.request_uri({
                        host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/connection", keepalive = keepalive,
                    })
                end
            end
            several(native({ pool = "a", pool_size = 2, backlog = 18 }))
            several(native({ pool = "b", pool_size = 2, backlog = 10 }))
            several(function()
                return client.new():request_uri(uri, { pool = "c", pool_size = 3, backlog = 30 })
            end)
        }
    }
--- response_body
2 0 nil
3 8 true
3 0 nil



=== TEST 10: case 60, sizes and backlogs that are missing or odd
--- config
    lua_socket_pool_size 2;
    location = /t {
        content_by_lua_block {
            local function several(pool, more, n)
                local held, last = {}, nil
                more.pool = pool
                for i = 1, n do
                    held[i], last = connect(at($TEST_NGINX_RAND_PORT_1, more), 500)
                end
                ngx.say(pool, " ", #held, " ", last)
            end
            several("no size", { backlog = 0 }, 3)
            several("no backlog", { pool_size = 1 }, 5)
            several("negative", { pool_size = 1, backlog = -1 }, 5)
            several("text", { pool_size = 1, backlog = "0" }, 5)
            several("fraction", { pool_size = 1, backlog = 0.9 }, 2)
            several("large", { pool_size = 1, backlog = 1e300 }, 2)
            local first = assert(connect(at($TEST_NGINX_RAND_PORT_1, { pool = "later", pool_size = 1 })))
            local second = assert(connect(at($TEST_NGINX_RAND_PORT_1, { pool = "later" })))
            ngx.say(select(2, connect(at($TEST_NGINX_RAND_PORT_1, { pool = "later", backlog = 0 }))))
            ngx.say(select(2, connect(at($TEST_NGINX_RAND_PORT_1, { pool = "later", backlog = 9 }))))
            second:close()
            ngx.say(select(2, connect(at($TEST_NGINX_RAND_PORT_1, { pool = "later" }))))
            first:close()
            ngx.say(connect(at($TEST_NGINX_RAND_PORT_1, { pool = "later" })) ~= nil)
        }
    }
--- response_body
no size 2 too many waiting connect operations
no backlog 5 nil
negative 5 nil
text 5 nil
fraction 1 too many waiting connect operations
large 1 timeout
too many waiting connect operations
too many waiting connect operations
too many waiting connect operations
true



=== TEST 11: case 60, a waiter whose object is closed by another thread
--- config
    location = /t {
        content_by_lua_block {
            local options = at($TEST_NGINX_RAND_PORT_1, { pool = "p", pool_size = 1, backlog = 1 })
            local first = assert(connect(options))
            local httpc = require("resty.ngx_http_ffi_client").new()
            local thread = ngx.thread.spawn(function() return httpc:connect(options) end)
            ngx.say(select(2, connect(options)))
            ngx.say(httpc:close())
            local _, ok, err = ngx.thread.wait(thread)
            ngx.say(ok, " ", err)
            first:close()
            ngx.say(use(assert(connect(options))))
        }
    }
--- response_body
too many waiting connect operations
1
nil closed
1:1



=== TEST 12: case 60, what stands behind a response is no answer to who waited for its connection
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local function get(path, query)
                local options = at($TEST_NGINX_RAND_PORT_1, { keepalive = { pool_size = 1, backlog = 1 } })
                options.path, options.query = path, query
                local res, err = client.request_uri(options)
                return res and res.body or err
            end
            -- The body is received to its end and no further, because its length is known by then.
            local head = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
            local first = ngx.thread.spawn(get, "/raw", { piece = { head, "hello" .. head .. "wrong" }, hold = 1 })
            local second = ngx.thread.spawn(get, "/connection")
            for _, thread in ipairs({ first, second }) do
                ngx.say(select(2, ngx.thread.wait(thread)))
            end
        }
    }
--- response_body
hello
1:1
