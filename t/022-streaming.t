# res.body_reader: pieces as they arrive, never more than asked for.
use Test::Nginx::Socket 'no_plan';
use NhfcTest;
use NhfcUpstream;

no_long_string();

# echo() is a peer that gives each byte back; count_turns(port), where /echo is one, counts turns of this worker's event
# loop in turns.answers until turns.stop(). An answer takes two: the peer reads the byte in one, and we the answer in the next.
my $helpers = <<'LUA';
    init_by_lua_block {
        function echo()
            local socket = assert(ngx.req.socket(true))
            local byte = socket:receive(1)
            while byte do
                socket:send(byte)
                byte = socket:receive(1)
            end
        end
        function count_turns(port)
            local turns, done = { answers = 0 }, false
            local thread = ngx.thread.spawn(function()
                local socket = ngx.socket.tcp()
                assert(socket:connect("127.0.0.1", port))
                assert(socket:send("GET /echo HTTP/1.1\r\nHost: h\r\n\r\n"))
                while not done do
                    socket:send("x")
                    assert(socket:receive(1))
                    turns.answers = turns.answers + 1
                end
                socket:close()
            end)
            function turns.stop()
                done = true
                ngx.thread.wait(thread)
            end
            return turns
        end
    }
LUA

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value(http_config => $helpers . ($block->http_config // ''));
});

run_tests();

__DATA__

=== TEST 1: case 82, an event is there when it comes, whatever the size asked for
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local event = "data: 12345678901234567890123\n\n"
            for _, framing in ipairs({ "Content-Length: 1000\r\n\r\n" .. event, "\r\n" .. event,
                                       "Transfer-Encoding: chunked\r\n\r\n1f\r\n" .. event .. "\r\n" }) do
                local httpc = client.new()
                assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
                local res = assert(httpc:request({ path = "/raw", query = { hold = 1, piece = "HTTP/1.1 200 OK\r\n" .. framing } }))
                ngx.update_time()
                local start = ngx.now()
                local piece, err = res.body_reader(8192)
                ngx.update_time()
                ngx.say(piece == event, " ", err, " ", ngx.now() - start < 1)          -- the peer holds for 2 s
                httpc:close()
            end
        }
    }
--- response_body
true nil true
true nil true
true nil true



=== TEST 2: case 82, pieces come one by one, each before the peer goes on
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local turn = require("nhfc").turn
            local httpc = client.new()
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            local res = assert(httpc:request({ path = "/raw", query = { turns = 1, piece = {
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "3\r\none\r\n", "3\r\ntwo\r\n", "5\r\nthree\r\n", "0\r\n\r\n",
            } } }))
            ngx.say("head")
            turn()
            for piece in res.body_reader do
                ngx.say(piece)
                turn()
            end
            ngx.say("end")
        }
    }
--- response_body
head
one
two
three
end



=== TEST 3: case 84, never more than asked, and the size may change
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            local res = assert(httpc:request({ path = "/raw", query = { hold = 1, piece =
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n01234567\r\n8\r\n89abcdef\r\n0\r\n\r\n" } }))
            for _, size in ipairs({ 1, 3, 2.9, 1 }) do
                ngx.print(res.body_reader(size), " ")
            end
            ngx.say(res:read_body(), " ", httpc:set_keepalive())
        }
    }
--- response_body
0 123 45 6 789abcdef 1



=== TEST 4: case 84, every piece has the size asked for at most, and all of them are the body
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local parts = {}
            for i = 1, 30000 do
                parts[i] = i % 10 .. "-" .. i
            end
            local body = table.concat(parts, ",")
            for _, size in ipairs({ 1, 3, 100, 4096, 65536, 1000000, 1e18 }) do
                local httpc = client.new()
                assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
                local res = assert(httpc:request({ method = "POST", body = body, headers = { Host = "h" } }))
                local pieces, most = {}, 0
                while true do
                    local piece, err = res.body_reader(size)
                    if not piece then
                        assert(not err, err)
                        break
                    end
                    pieces[#pieces + 1] = piece
                    most = math.max(most, #piece)
                end
                ngx.say(most <= size, " ", table.concat(pieces):match("\r\n\r\n(.*)") == body, " ", httpc:set_keepalive())
            end
        }
    }
--- timeout: 30
--- response_body eval
"true true 1\n" x 7



=== TEST 5: case 84, sizes that are no size: an error, and nothing is lost
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            local res = assert(httpc:request({ path = "/connection" }))
            local refused = 0
            for _, size in ipairs({ 0, -1, 0.5, "3", "x", true, false, {}, print, 0/0, -1/0 }) do
                local ok, piece, err = pcall(res.body_reader, size)
                refused = refused + (ok and piece == nil and type(err) == "string" and 1 or 0)
            end
            ngx.say(refused)
            ngx.say(res.body_reader(1/0))
            local piece, err = res.body_reader(nil)
            ngx.say(piece, " ", err)
            ngx.say(httpc:set_keepalive())
        }
    }
--- response_body
11
1:1
nil nil
1



=== TEST 6: case 83, without a size: pieces of 64 KB at most
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            local body = ("0123456789"):rep(100000)
            local res = assert(httpc:request({ method = "POST", body = body, headers = { Host = "h" } }))
            local all, most = {}, 0
            for piece in res.body_reader do
                all[#all + 1] = piece
                most = math.max(most, #piece)
            end
            ngx.say(most <= 65536, " ", #all > 10, " ", table.concat(all):sub(-#body) == body, " ", httpc:set_keepalive())
        }
    }
--- response_body
true true true 1



=== TEST 7: case 83, a long stream, read slowly, takes no memory: it stays with the peer
--- http_config
    server {
        listen 127.0.0.1:$TEST_NGINX_RAND_PORT_3;
        location / {
            content_by_lua_block {
                local block = ("x"):rep(65536)
                for i = 1, 640 do
                    ngx.shared.upstream:set("blocks", i)
                    ngx.print(block)
                    if not ngx.flush(true) then
                        return
                    end
                end
            }
        }
    }
--- config
    location = /t {
        content_by_lua_block {
            local function resident()
                for line in io.lines("/proc/self/status") do
                    local kilobytes = line:match("^VmRSS:%s+(%d+)")
                    if kilobytes then
                        return tonumber(kilobytes)
                    end
                end
            end
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_3))
            local res = assert(httpc:request({ path = "/" }))
            res.body_reader(1)
            collectgarbage()
            local before, most, total = resident(), 0, 1
            ngx.sleep(0.3)
            most = resident()
            ngx.say("sent ", ngx.shared.upstream:get("blocks") < 320)
            local i = 0
            for piece in res.body_reader do
                total, i = total + #piece, i + 1
                if i % 100 == 0 then
                    collectgarbage()
                    most = math.max(most, resident())
                end
            end
            ngx.say(total, " ", most - before < 6000 or most - before, " ", httpc:set_keepalive())
        }
    }
--- timeout: 10
--- response_body
sent true
41943040 true 1



=== TEST 8: the reader first, read_body for the rest, trailers at the end
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            local res = assert(httpc:request({ path = "/raw", query = { hold = 1, pause = 20, piece = {
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", "5\r\nworld\r\n", "0\r\nX-Sum: 10\r\n\r\n",
            } } }))
            local trailers = res.trailers
            ngx.say(res.body_reader(2), " ", next(trailers), " ", res:read_trailers())
            ngx.say(res:read_body(), " ", trailers.x_sum, " ", res:read_trailers() == trailers)
            ngx.say(httpc:set_keepalive())
        }
    }
--- response_body
he nil nilthe body has not been read to its end
lloworld 10 true
1



=== TEST 9: a body that two light threads read in turn
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            local res = assert(httpc:request({ path = "/raw", query = { turns = 1, piece = {
                "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nab", "cd", "ef",
            } } }))
            local turn = require("nhfc").turn
            ngx.print(res.body_reader(), " ")
            local thread = ngx.thread.spawn(function() return res.body_reader() end)
            turn()
            ngx.print(select(2, ngx.thread.wait(thread)), " ")
            turn()
            ngx.print(res.body_reader(), " ")
            ngx.say(res.body_reader())
        }
    }
--- response_body
ab cd ef nil



=== TEST 10: case 82, a stream that is passed on as it comes
--- config
    location = /pass {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            local res = assert(httpc:request({ path = "/raw", query = { turns = 1, piece = {
                "HTTP/1.1 200 OK\r\n\r\n", "first,", "second,", "third",
            } } }))
            require("nhfc").turn()
            ngx.status = res.status
            for piece in res.body_reader do
                ngx.print(piece)
                ngx.flush(true)
            end
        }
    }
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            assert(httpc:connect("127.0.0.1", tonumber(ngx.var.server_port)))
            local res = assert(httpc:request({ path = "/pass" }))
            for piece in res.body_reader do
                ngx.say(piece)
                require("nhfc").turn()
            end
            ngx.say(httpc:set_keepalive())
        }
    }
--- response_body
first,
second,
third
1



=== TEST 11: case 83, no more than 256 KB in one turn of the event loop, also when more is there
--- http_config
    server {
        listen 127.0.0.1:$TEST_NGINX_RAND_PORT_3;
        location = /echo { content_by_lua_block { echo() } }
        location / {
            content_by_lua_block {
                local block = ("x"):rep(1048576)
                for i = 1, 20 do
                    ngx.print(block)
                    if not ngx.flush(true) then
                        return
                    end
                end
            }
        }
    }
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_3))
            local res = assert(httpc:request({ path = "/" }))
            local turns = count_turns($TEST_NGINX_RAND_PORT_3)
            ngx.sleep(0.1)
            local had, total, most = {}, 0, 0
            for piece in res.body_reader do
                local now = turns.answers
                had[now] = (had[now] or 0) + #piece
                most = math.max(most, had[now])
                total = total + #piece
            end
            turns.stop()
            ngx.say(total, " ", most <= 2 * 262144 or most)
        }
    }
--- timeout: 20
--- response_body
20971520 true



=== TEST 12: case 82, an event is there in the turn of the event loop that reads it, in all framings
--- http_config
    server {
        listen 127.0.0.1:$TEST_NGINX_RAND_PORT_3;
        location = /echo { content_by_lua_block { echo() } }
        location = /event {
            content_by_lua_block {
                local turns = package.loaded.turns
                local socket = assert(ngx.req.socket(true))
                socket:send("HTTP/1.1 200 OK\r\n" .. ngx.var.arg_head .. "\r\n\r\n")
                ngx.sleep(0.02)
                turns.sent = turns.answers
                local event = "data: 12345678901234567890123\n\n"
                socket:send(ngx.var.arg_head:find("chunked") and "1f\r\n" .. event .. "\r\n" or event)
                socket:receive(1)
            }
        }
    }
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local turns = count_turns($TEST_NGINX_RAND_PORT_3)
            package.loaded.turns = turns
            local event = "data: 12345678901234567890123\n\n"
            for _, head in ipairs({ "Content-Length:1000", "Transfer-Encoding:chunked", "X-End:close" }) do
                local httpc = client.new()
                assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_3))
                local res = assert(httpc:request({ path = "/event?head=" .. head }))
                local piece = res.body_reader(8192)
                local later = turns.answers - turns.sent
                ngx.say(piece == event, " ", later <= 1 or later)
                httpc:close()
            end
            turns.stop()
        }
    }
--- response_body
true true
true true
true true
