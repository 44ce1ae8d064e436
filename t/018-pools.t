# Names and sizes of pools.
use Test::Nginx::Socket 'no_plan';
use NhfcTest;
use NhfcUpstream;

no_long_string();
worker_connections(256);

# open(n, options) gives n objects that are connected and have been used; take(options) connects and says on
# which of the upstream's connections, and how often that one had been used.
my $helpers = <<'LUA';
    init_by_lua_block {
        function open(n, options)
            local client = require "resty.ngx_http_ffi_client"
            local all = {}
            for i = 1, n do
                all[i] = assert(client.new())
                assert(all[i]:connect(options))
                assert(all[i]:request({ path = "/connection", preread_body = true }))
            end
            return all
        end
        function take(options)
            local client = require "resty.ngx_http_ffi_client"
            local httpc = assert(client.new())
            assert(httpc:connect(options))
            local reused = httpc:get_reused_times()
            local res = assert(httpc:request({ path = "/connection", preread_body = true }))
            return res.body:match("^%d+") .. "(" .. reused .. ")", httpc
        end
    }
LUA

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value(http_config => $helpers . ($block->http_config // ''));
});

run_tests();

__DATA__

=== TEST 1: pools of different names share nothing
--- config
    location = /t {
        content_by_lua_block {
            local function at(pool)
                return { host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, pool = pool }
            end
            local a = open(1, at("a"))[1]
            ngx.say(a:set_keepalive())
            ngx.say((take(at("b"))), " ", (take(at(nil))), " ", (take(at("a"))))
        }
    }
--- response_body
1
2(0) 3(0) 1(1)



=== TEST 2: in a named pool too a connection serves its own host and port only
--- config
    location = /t {
        content_by_lua_block {
            local function at(host, port)
                return { host = host, port = port, pool = "p" }
            end
            for _, httpc in ipairs(open(1, at("127.0.0.1", $TEST_NGINX_RAND_PORT_1))) do
                ngx.say(httpc:set_keepalive())
            end
            ngx.say((take(at("127.0.0.1", $TEST_NGINX_RAND_PORT_2))))
            ngx.say((take(at("localhost", $TEST_NGINX_RAND_PORT_1))))
            ngx.say((take(at("127.0.0.1", $TEST_NGINX_RAND_PORT_1))))
        }
    }
--- response_body
1
2(0)
3(0)
1(1)



=== TEST 3: without a name the origin is the pool
--- config
    location = /t {
        content_by_lua_block {
            local function at(host, port)
                return { host = host, port = port }
            end
            for _, target in ipairs({
                at("127.0.0.1", $TEST_NGINX_RAND_PORT_1), at("127.0.0.1", $TEST_NGINX_RAND_PORT_2),
                at("localhost", $TEST_NGINX_RAND_PORT_1),
            }) do
                ngx.say(open(1, target)[1]:set_keepalive())
            end
            ngx.say((take(at("127.0.0.1", $TEST_NGINX_RAND_PORT_2))), " ", (take(at("localhost", $TEST_NGINX_RAND_PORT_1))), " ",
                    (take(at("127.0.0.1", $TEST_NGINX_RAND_PORT_1))), " ", (take(at("127.0.0.1", $TEST_NGINX_RAND_PORT_1))))
        }
    }
--- response_body
1
1
1
2(1) 3(1) 1(1) 4(0)



=== TEST 4: case 59, a full pool closes its least recently used connection
--- config
    location = /t {
        content_by_lua_block {
            local target = { host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, pool = "p" }
            local all = open(4, target)
            for _, i in ipairs({ 2, 4, 1, 3 }) do
                ngx.print(all[i]:set_keepalive(nil, 2), " ")
            end
            local taken = {}
            for i = 1, 3 do
                taken[i] = (take(target))
            end
            table.sort(taken)
            ngx.say(table.concat(taken, " "))
        }
    }
--- response_body
1 1 1 1 1(1) 3(1) 5(0)



=== TEST 5: the size counts the whole name, whatever the origins
--- config
    location = /t {
        content_by_lua_block {
            local one = { host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, pool = "p" }
            local two = { host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_2, pool = "p" }
            local a, b, c = open(1, one)[1], open(1, two)[1], open(1, one)[1]
            ngx.say(a:set_keepalive(nil, 2), b:set_keepalive(nil, 2), c:set_keepalive(nil, 2))
            ngx.say((take(one)), " ", (take(one)), " ", (take(two)), " ", (take(two)))
        }
    }
--- response_body
111
3(1) 4(0) 2(1) 5(0)



=== TEST 6: the first set_keepalive sizes the pool, for good
--- config
    location = /t {
        content_by_lua_block {
            local target = { host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, pool = "p" }
            local larger = { host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, pool = "p", pool_size = 10 }
            local all = open(3, target)
            all[1]:set_keepalive(nil, 1)
            all[2]:set_keepalive(nil, 10)
            all[3]:set_keepalive()
            ngx.say((take(larger)), " ", (take(larger)))
            all = open(2, larger)
            all[1]:set_keepalive(nil, 10)
            all[2]:set_keepalive(nil, 10)
            ngx.say((take(larger)), " ", (take(larger)))
        }
    }
--- response_body
3(1) 4(0)
6(1) 7(0)



=== TEST 7: connect with a size creates the pool, connect without leaves the size to set_keepalive
--- config
    location = /t {
        content_by_lua_block {
            local sized = { host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, pool = "sized", pool_size = 1 }
            local all = open(2, sized)
            all[1]:set_keepalive(nil, 10)
            all[2]:set_keepalive(nil, 10)
            ngx.say((take(sized)), " ", (take(sized)))
            local unsized = { host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, pool = "unsized" }
            all = open(3, unsized)
            for i = 1, 3 do
                all[i]:set_keepalive(nil, 2)
            end
            ngx.say((take(unsized)), " ", (take(unsized)), " ", (take(unsized)))
        }
    }
--- response_body_like
^2\(1\) 3\(0\)
(5\(1\) 6\(1\)|6\(1\) 5\(1\)) 7\(0\)



=== TEST 8: 30 without a size
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local target = { host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1 }
            local all = open(31, target)
            for _, httpc in ipairs(all) do
                assert(httpc:set_keepalive() == 1)
            end
            local seen, reused = {}, 0
            for i = 1, 31 do
                all[i] = client.new()
                assert(all[i]:connect(target))
                reused = reused + all[i]:get_reused_times()
                seen[all[i]:request({ path = "/connection" }):read_body():match("^%d+")] = true
            end
            ngx.say(reused, " ", seen["1"], " ", seen["2"], " ", seen["31"], " ", seen["32"])
        }
    }
--- response_body
30 nil true true true



=== TEST 9: request_uri and objects mean the same pools
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local target = { host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, pool = "p" }
            local function ask(keepalive)
                return assert(client.request_uri({
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/connection", keepalive = keepalive,
                })).body
            end
            local uri = "http://127.0.0.1:$TEST_NGINX_RAND_PORT_1/connection"
            ngx.say(ask({ pool = "p", pool_size = 1 }))
            local at, httpc = take(target)
            ngx.say(at, " ", httpc:set_keepalive(nil, 10))
            ngx.say(ask({ pool = "p" }))
            ngx.say(assert(httpc:request_uri(uri, { pool = "p" })).body)
            ngx.say(assert(httpc:request_uri(uri)).body, " ", ask({}))
            local all = open(2, target)
            ngx.say(all[1]:set_keepalive(), all[2]:set_keepalive(), " ", (take(target)), " ", (take(target)))
        }
    }
--- response_body
1:1
1(1) 1
1:3
1:4
2:1 2:2
11 3(1) 4(0)



=== TEST 10: the size that request_uri gives counts when it is the first
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local function several(ask)
                local threads = {}
                for i = 1, 4 do
                    threads[i] = ngx.thread.spawn(ask)
                end
                for i = 1, 4 do
                    assert(ngx.thread.wait(threads[i]))
                end
            end
            several(function()
                return client.request_uri({
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/connection",
                    keepalive = { pool = "native", pool_size = 2 },
                })
            end)
            several(function()
                return client.new():request_uri("http://127.0.0.1:$TEST_NGINX_RAND_PORT_1/connection", {
                    pool = "object", keepalive_pool = 3,
                })
            end)
            for _, pool in ipairs({ "native", "object" }) do
                local reused = 0
                for _ = 1, 4 do
                    local at = take({ host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, pool = pool })
                    reused = reused + tonumber(at:match("%((%d)"))
                end
                ngx.say(pool, " ", reused)
            end
        }
    }
--- response_body
native 2
object 3



=== TEST 11: names of pools may be numbers; other types stand for no name
--- config
    location = /t {
        content_by_lua_block {
            local function at(pool)
                return { host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, pool = pool }
            end
            open(1, at(7))[1]:set_keepalive()
            ngx.say((take(at("7"))))
            open(1, at(false))[1]:set_keepalive()
            ngx.say((take(at(nil))))
            open(1, at({}))[1]:set_keepalive()
            ngx.say((take(at(nil))), " ", (take(at("7"))))
        }
    }
--- response_body
1(1)
2(1)
3(1) 4(0)
