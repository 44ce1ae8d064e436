# Request bodies that an iterator gives piece by piece.
#
# /peer on the server itself is what each block has it be: ngx.req.socket(true) shows and says what it likes.
use Test::Nginx::Socket 'no_plan';
use NhfcTest;
use NhfcUpstream;

no_long_string();
run_tests();

__DATA__

=== TEST 1: an iterator with a length, and one in chunks; pieces may be numbers, and empty
--- config
    location = /peer {
        content_by_lua_block {
            local sock = assert(ngx.req.socket(true))
            local got = assert(sock:receiveuntil(ngx.unescape_uri(ngx.var.arg_until))())
            sock:send("HTTP/1.1 200 OK\r\nContent-Length: " .. #got .. "\r\n\r\n" .. got)
        }
    }
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            for _, headers in ipairs({ { ["content-length"] = "11" }, { ["transfer-Encoding"] = "Chunked", ["Content-Length"] = 5 } }) do
                for _, how in ipairs({ "uri", "object", "preread" }) do
                    local body = require("nhfc").iterator("hello", "", " ", 12345, "$")
                    if headers["content-length"] then
                        headers["content-length"] = "12"
                    end
                    local opts = {
                        host = "127.0.0.1", port = tonumber(ngx.var.server_port), method = "POST", path = "/peer",
                        query = { ["until"] = headers["content-length"] and "$" or "\r\n0\r\n\r\n" }, headers = headers,
                        body = body, preread_body = how == "preread",
                    }
                    local res
                    if how == "uri" then
                        res = assert(client.request_uri(opts))
                    else
                        local httpc = client.new()
                        assert(httpc:connect(opts))
                        res = assert(httpc:request(opts))
                    end
                    ngx.say(how, " ", (res:read_body():gsub("\r\n", "|")))
                end
            end
        }
    }
--- response_body
uri hello 12345
object hello 12345
preread hello 12345
uri 5|hello|1| |5|12345|1|$
object 5|hello|1| |5|12345|1|$
preread 5|hello|1| |5|12345|1|$



=== TEST 2: case 45, what is sent as head
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            for _, headers in ipairs({ { ["Content-Length"] = 2 }, { ["transfer-encoding"] = "chunked" } }) do
                local res = assert(client.request_uri({
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, method = "PUT", headers = headers,
                    body = require("nhfc").iterator("ab"),
                }))
                ngx.say((res.body:gsub("Host: [^\r]*", "Host: h"):gsub("\r\n", "|")))
            end
        }
    }
--- response_body
PUT / HTTP/1.1|Host: h|Content-Length: 2|Connection: close||ab
PUT / HTTP/1.1|Host: h|Transfer-Encoding: chunked|Connection: close||ab



=== TEST 3: case 47, an iterator without a length or chunked encoding is refused before a byte is sent
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local calls = 0
            local function body()
                calls = calls + 1
            end
            local to = { host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, method = "POST", body = body }
            for _, headers in ipairs({
                {}, { ["Content-Length"] = "x" }, { ["Content-Length"] = -1 }, { ["Transfer-Encoding"] = "gzip" },
                { ["Transfer-Encoding"] = "chunked, gzip" }, { ["Transfer-Encoding"] = { "chunked", "chunked" } },
            }) do
                to.headers = headers
                ngx.say(client.request_uri(to))
            end
            local httpc = client.new()
            ngx.say(httpc:request_uri("http://127.0.0.1:$TEST_NGINX_RAND_PORT_1/", { method = "POST", body = body }))
            assert(httpc:connect(to))
            ngx.say(httpc:request({ method = "POST", body = body }))
            ngx.say(httpc:request({ path = "/connection" }):read_body(), " ", calls)
        }
    }
--- response_body
nila body in pieces needs Content-Length or Transfer-Encoding: chunked
nilContent-Length does not match the body
nilContent-Length does not match the body
nila body in pieces needs Content-Length or Transfer-Encoding: chunked
nila body in pieces needs Content-Length or Transfer-Encoding: chunked
nilheader given more than once
nila body in pieces needs Content-Length or Transfer-Encoding: chunked
nila body in pieces needs Content-Length or Transfer-Encoding: chunked
1:1 0



=== TEST 4: case 48, an iterator that gives too little, too much, an error, or something else
--- config
    location = /peer {
        content_by_lua_block {
            require("nhfc").log_rest(assert(ngx.req.socket(true)), 20)
        }
    }
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local function run(name, headers, ...)
                local pieces, i = { ... }, 0
                local function body()
                    i = i + 1
                    local piece = pieces[i]
                    if type(piece) == "function" then
                        return piece()
                    end
                    return piece
                end
                local to = {
                    host = "127.0.0.1", port = tonumber(ngx.var.server_port), method = "POST", path = "/peer", headers = headers,
                    body = body,
                }
                local res, err = client.request_uri(to)
                ngx.print(name, ": ", res, " ", err)
                i = 0
                local httpc = client.new()
                assert(httpc:connect(to))
                res, err = httpc:request(to)
                ngx.say(", ", res, " ", err, ", ", httpc:set_keepalive())
            end
            local length = { ["Content-Length"] = 5 }
            run("short", length, "ab")
            run("long", length, "abcdefgh")
            run("one more", length, "abcde", "f")
            run("error", length, "ab", function() return nil, "broken source" end)
            run("false", length, "ab", function() return false, "broken" end)
            run("throw", { ["Transfer-Encoding"] = "chunked" }, "ab", function() error("oh no", 0) end)
            run("table", length, "ab", function() return {} end)
        }
    }
--- timeout: 10
--- response_body
short: nil Content-Length does not match the body, nil Content-Length does not match the body, nilclosed
long: nil Content-Length does not match the body, nil Content-Length does not match the body, nilclosed
one more: nil Content-Length does not match the body, nil Content-Length does not match the body, nilclosed
error: nil broken source, nil broken source, nilclosed
false: nil broken, nil broken, nilclosed
throw: nil the request body iterator failed: oh no, nil the request body iterator failed: oh no, nilclosed
table: nil the request body iterator must give strings or numbers, not table, nil the request body iterator must give strings or numbers, not table, nilclosed
--- grep_error_log eval: qr/peer: closed after \d+/
--- grep_error_log_out eval
CORE::join "", map { "peer: closed after $_\n" x 2 } 2, 0, 5, 2, 2, 7, 2



=== TEST 5: an iterator that waits, and that makes requests itself
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local to = { host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, keepalive = {} }
            for _, how in ipairs({ "uri", "object" }) do
                local i = 0
                local function body()
                    i = i + 1
                    ngx.sleep(0.01)
                    return i < 4 and assert(client.request_uri({
                        host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_2, method = "POST", body = "<" .. i .. ">",
                    })).body:match("<.>") or nil
                end
                local res
                to.method, to.body, to.headers = "POST", body, { ["Transfer-Encoding"] = "chunked" }
                if how == "uri" then
                    res = assert(client.request_uri(to))
                else
                    local httpc = client.new()
                    assert(httpc:connect(to))
                    res = assert(httpc:request(to))
                end
                ngx.say(res:read_body():match("\r\n\r\n(.*)"))
            end
        }
    }
--- response_body
<1><2><3>
<1><2><3>



=== TEST 6: a peer that does not read stops the iterator, which takes no memory meanwhile
--- config
    location = /peer {
        client_max_body_size 0;
        content_by_lua_block {
            local sock = assert(ngx.req.socket(true))
            ngx.sleep(0.3)
            local left = 64 * 1048576
            while left > 0 do
                local data = assert(sock:receive(math.min(left, 1048576)))
                left = left - #data
            end
            sock:send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone")
        }
    }
    location = /t {
        lua_socket_send_timeout 5s;
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local function resident()
                for line in io.lines("/proc/self/status") do
                    local kb = line:match("^VmRSS:%s+(%d+)")
                    if kb then
                        return tonumber(kb)
                    end
                end
            end
            local piece, given = ("x"):rep(65536), 0
            local early
            ngx.timer.at(0.2, function() early = given end)
            collectgarbage()
            local before, most = resident(), 0
            local res = assert(client.request_uri({
                host = "127.0.0.1", port = tonumber(ngx.var.server_port), method = "POST", path = "/peer",
                headers = { ["Content-Length"] = 64 * 1048576 },
                body = function()
                    if given == 1024 then
                        return nil
                    end
                    given = given + 1
                    if given % 64 == 0 then
                        collectgarbage()
                        most = math.max(most, resident())
                    end
                    return piece
                end,
            }))
            ngx.say(res.body, " ", early > 0 and early < 512 or early, " ", most - before < 12000 or most - before)
        }
    }
--- timeout: 20
--- response_body
done true true



=== TEST 7: an iterator that never waits leaves others their turn of the event loop
--- config
    location = /peer {
        content_by_lua_block {
            -- Runs in each turn, because there is always something to read.
            local sock = assert(ngx.req.socket(true))
            package.loaded.read = 0
            while package.loaded.read < 16 * 1048576 do
                package.loaded.read = package.loaded.read + #assert(sock:receive(65536))
            end
            sock:send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone")
        }
    }
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local piece, given, read, stretch, longest = ("x"):rep(16384), 0, 0, 0, 0
            local res, err = client.request_uri({
                host = "127.0.0.1", port = tonumber(ngx.var.server_port), method = "POST", path = "/peer",
                headers = { ["Content-Length"] = 16 * 1048576 },
                body = function()
                    given = given + 16384
                    -- Pieces given in one turn; the first turns accept the connection.
                    stretch = package.loaded.read == read and stretch + 1 or 1
                    read = package.loaded.read
                    longest = read and math.max(longest, stretch) or 0
                    return given <= 16 * 1048576 and piece or nil
                end,
            })
            ngx.say(res and res.body or err, " ", longest > 0 and longest <= 32 or longest)
        }
    }
--- timeout: 10
--- response_body
done true



=== TEST 8: the object while its iterator runs
--- config
    location = /peer {
        content_by_lua_block {
            local sock = assert(ngx.req.socket(true))
            assert(sock:receive(4))
            sock:send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            assert(not sock:receive(1))
        }
    }
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            for _, close in ipairs({ false, true }) do
                local httpc = client.new()
                local opts = { pool = tostring(close) }
                assert(httpc:connect("127.0.0.1", tonumber(ngx.var.server_port), opts))
                local given
                local thread = ngx.thread.spawn(function()
                    local res, err = httpc:request({
                        method = "POST", path = "/peer", headers = { ["Content-Length"] = 4 },
                        body = function()
                            ngx.sleep(0.1)
                            given = not given
                            return given and "abcd" or nil
                        end,
                    })
                    return res and res:read_body(), err
                end)
                ngx.sleep(0.01)
                ngx.say(httpc:request({ path = "/x" }))
                ngx.say(httpc:connect("127.0.0.1", tonumber(ngx.var.server_port)))
                ngx.say(httpc:set_keepalive())
                if close then
                    ngx.say(httpc:close())
                end
                local _, body, err = ngx.thread.wait(thread)
                ngx.say(body, " ", err, " ", httpc:set_keepalive())
            end
        }
    }
--- response_body
nilsocket busy
nilsocket busy
nilsocket busy
ok nil 1
nilsocket busy
nilsocket busy
nilsocket busy
1
nil closed nilclosed



=== TEST 9: a deadline over all of it, and no timeout while the caller is slow
--- config
    location = /peer {
        content_by_lua_block {
            local sock = assert(ngx.req.socket(true))
            sock:settimeout(3000)
            assert(sock:receive(4))
            sock:send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        }
    }
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            for _, deadline in ipairs({ 5000, 60 }) do
                local i = 0
                local res, err = client.request_uri({
                    host = "127.0.0.1", port = tonumber(ngx.var.server_port), method = "POST", path = "/peer", deadline = deadline,
                    send_timeout = 20, read_timeout = 200, headers = { ["Content-Length"] = 4 },
                    body = function()
                        i = i + 1
                        ngx.sleep(0.1)
                        return i <= 2 and "ab" or nil
                    end,
                })
                ngx.say(res and res.body, " ", err)
            end
        }
    }
--- response_body
ok nil
nil timeout



=== TEST 10: a dead kept connection: sent again where that may be, with what the iterator has given
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            for _, method in ipairs({ "PUT", "POST" }) do
                local to = { host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, keepalive = { pool = method } }
                to.path, to.query = "/raw", { pause = 60, piece = { "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "" } }
                assert(client.request_uri(to))
                -- The peer closes 60 ms later, when the first piece is on its way.
                local i = 0
                to.path, to.query, to.method = "/", nil, method
                to.headers = { ["Content-Length"] = 4 }
                to.body = function()
                    i = i + 1
                    if i == 2 then
                        ngx.sleep(0.15)
                    end
                    return i <= 2 and "a" .. i or nil
                end
                local res, err = client.request_uri(to)
                ngx.say(res and res.body:match("\r\n\r\n(.*)"), " ", err, " ", i)
            end
        }
    }
--- response_body
a1a2 nil 3
nil closed 2



=== TEST 11: a request that ends while its iterator waits
--- config
    location = /peer {
        content_by_lua_block {
            local sock = assert(ngx.req.socket(true))
            ngx.log(ngx.WARN, "peer: got ", sock:receive(2))
            package.loaded.has_come = true
            require("nhfc").log_rest(sock, 98)
        }
    }
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            ngx.thread.spawn(function()
                local i = 0
                client.request_uri({
                    host = "127.0.0.1", port = tonumber(ngx.var.server_port), method = "POST", path = "/peer",
                    headers = { ["Content-Length"] = 100 },
                    body = function()
                        i = i + 1
                        if i == 2 then
                            ngx.sleep(10)
                        end
                        return "ab"
                    end,
                })
            end)
            require("nhfc").wait_for(function() return package.loaded.has_come end)
            ngx.say("left")
            ngx.exit(200)
        }
    }
--- response_body
left
--- wait: 0.2
--- error_log
peer: got ab
peer: closed after 0
