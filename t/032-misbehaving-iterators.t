# Request bodies from iterators that do what they should not.
#
# /peer on the server itself is what each block has it be: ngx.req.socket(true) shows and says what it likes.
use Test::Nginx::Socket 'no_plan';
use NhfcTest;
use NhfcUpstream;

no_long_string();
run_tests();

__DATA__

=== TEST 1: error values that are no strings, and cannot be made strings
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local function value(text)
                return setmetatable({}, { __tostring = text })
            end
            local thrower = value(function() error("in __tostring") end)
            for _, value in ipairs({ value(function() return "said" end), thrower, value(function() return {} end), false }) do
                for _, body in ipairs({ function() error(value) end, function() return nil, value end }) do
                    local to = { host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, headers = { ["Content-Length"] = 1 }, body = body }
                    ngx.print(client.request_uri(to))
                    local httpc = client.new()
                    assert(httpc:connect(to))
                    ngx.print(" ", httpc:request(to))
                    ngx.say(" ", httpc:close())
                end
            end
        }
    }
--- response_body
nilthe request body iterator failed: said nilthe request body iterator failed: said nilclosed
nilsaid nilsaid nilclosed
nilthe request body iterator failed: table nilthe request body iterator failed: table nilclosed
niltable niltable nilclosed
nilthe request body iterator failed: table nilthe request body iterator failed: table nilclosed
niltable niltable nilclosed
nilthe request body iterator failed: false nilthe request body iterator failed: false nilclosed
nilfalse nilfalse nilclosed



=== TEST 2: an iterator that gives nothing, time and again, leaves others their turn and ends at the deadline
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            for _, piece in ipairs({ "", "x" }) do
                local calls, others, stop = 0, 0, false
                ngx.thread.spawn(function()
                    repeat
                        others = others + 1
                        ngx.sleep(0.001)
                    until stop
                end)
                ngx.say(client.request_uri({
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/silent", deadline = 300,
                    headers = { ["Transfer-Encoding"] = "chunked" },
                    body = function()
                        calls = calls + 1
                        -- Without a turn for the deadline this would be for ever.
                        assert(calls < 5e6)
                        return piece
                    end,
                }))
                stop = true
                ngx.say(others > 2, " ", calls / others < 100000)
                ngx.sleep(0.01)
            end
        }
    }
--- timeout: 20
--- response_body
niltimeout
true true
niltimeout
true true
