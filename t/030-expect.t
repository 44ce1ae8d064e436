# Request bodies that wait for leave, and answers that come before a body has been sent.
#
# /peer on the server itself is what each block has it be: ngx.req.socket(true) shows and says what it likes.
use Test::Nginx::Socket 'no_plan';
use NhfcTest;
use NhfcUpstream;

no_long_string();
run_tests();

__DATA__

=== TEST 1: case 28, Expect: 100-continue and a peer that says nothing
--- config
    nhfc_expect_timeout 60s;
    location = /peer {
        content_by_lua_block {
            local sock = assert(ngx.req.socket(true))
            sock:settimeout(tonumber(ngx.var.arg_patience) or 60)
            local data, err, partial = sock:receive(3)
            sock:settimeout(3000)
            if ngx.var.arg_patience then
                sock:send("HTTP/1.1 100 Continue\r\n\r\n")
            end
            local rest = assert(sock:receive(3 - #(data or partial)))
            local text = (err or "at once") .. " " .. (data or partial) .. "+" .. rest
            sock:send("HTTP/1.1 200 OK\r\nContent-Length: " .. #text .. "\r\n\r\n" .. text)
        }
    }
    location = /directive {
        nhfc_expect_timeout 300ms;
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            ngx.say(assert(client.request_uri({
                host = "127.0.0.1", port = tonumber(ngx.var.server_port), method = "POST", path = "/peer", body = "abc",
                headers = { Expect = "100-continue" }, read_timeout = 800,
            })).body)
        }
    }
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            for _, value in ipairs({ "100-continue", "100-Continue", "x, 100-CONTINUE" }) do
                ngx.say(assert(client.request_uri({
                    host = "127.0.0.1", port = tonumber(ngx.var.server_port), method = "POST", path = "/peer", body = "abc",
                    headers = { eXpect = value }, expect_timeout = 300, read_timeout = 800,
                })).body)
            end
            local httpc = client.new()
            ngx.say(assert(httpc:request_uri("http://127.0.0.1:" .. ngx.var.server_port .. "/peer", {
                method = "POST", headers = { Expect = "100-continue", ["Content-Length"] = 3 }, expect_timeout = 300, read_timeout = 800,
                body = require("nhfc").iterator("abc"),
            })).body)
            ngx.say(assert(httpc:request_uri("http://127.0.0.1:" .. ngx.var.server_port .. "/peer", {
                method = "POST", body = "abc", headers = { Expect = "something else" },
            })).body)
            ngx.print(assert(httpc:request_uri("http://127.0.0.1:" .. ngx.var.server_port .. "/directive")).body)
            -- More than the second that it is by default.
            ngx.say(assert(httpc:request_uri("http://127.0.0.1:" .. ngx.var.server_port .. "/peer?patience=1200", {
                method = "POST", body = "abc", headers = { Expect = "100-continue" },
            })).body)
        }
    }
--- timeout: 10
--- response_body
timeout +abc
timeout +abc
timeout +abc
timeout +abc
at once abc+
timeout +abc
timeout +abc



=== TEST 2: Expect: 100-continue and a peer that gives leave
--- config
    location = /peer {
        content_by_lua_block {
            local sock = assert(ngx.req.socket(true))
            sock:settimeout(60)
            local _, err, partial = sock:receive(3)
            sock:send("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 100 Continue\r\nX: y\r\n\r\n")
            sock:settimeout(3000)
            local rest = assert(sock:receive(3))
            local text = err .. " " .. partial .. "+" .. rest
            sock:send("HTTP/1.1 200 OK\r\nContent-Length: " .. #text .. "\r\n\r\n" .. text)
            assert(not sock:receive(1))
        }
    }
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            for i, body in ipairs({ "abc", require("nhfc").iterator("abc") }) do
                local httpc = client.new()
                assert(httpc:connect("127.0.0.1", tonumber(ngx.var.server_port), { pool = i }))
                local res = assert(httpc:request({
                    method = "POST", path = "/peer", body = body, expect_timeout = 60000,
                    headers = { expect = "100-continue", ["content-length"] = 3 },
                }))
                ngx.say(res:read_body(), " ", httpc:set_keepalive())
            end
        }
    }
--- response_body
timeout +abc 1
timeout +abc 1



=== TEST 3: case 29, Expect: 100-continue answered by a final status
--- config
    location = /peer {
        content_by_lua_block {
            local sock = assert(ngx.req.socket(true))
            sock:send("HTTP/1.1 " .. ngx.var.arg_status .. " X\r\nContent-Length: 2\r\n\r\nno")
            require("nhfc").log_rest(sock, 1)
        }
    }
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            for _, status in ipairs({ 417, 401, 200 }) do
                for _, body in ipairs({ "abc", function() ngx.log(ngx.ERR, "the iterator ran") end }) do
                    local httpc = client.new()
                    assert(httpc:connect("127.0.0.1", tonumber(ngx.var.server_port)))
                    local res = assert(httpc:request({
                        method = "POST", path = "/peer", body = body, query = { status = status }, expect_timeout = 60000,
                        headers = { Expect = "100-continue", ["Content-Length"] = 3 },
                    }))
                    ngx.say(res.status, " ", res:read_body(), " ", httpc:set_keepalive())
                end
            end
        }
    }
--- response_body
417 no 2connection must be closed
417 no 2connection must be closed
401 no 2connection must be closed
401 no 2connection must be closed
200 no 2connection must be closed
200 no 2connection must be closed
--- grep_error_log eval: qr/peer: closed after \d/
--- grep_error_log_out eval
"peer: closed after 0\n" x 6
--- no_error_log
the iterator ran
[alert]



=== TEST 4: an answer that is an error ends the body; one that is a success may go on
--- config
    location = /refuse {
        content_by_lua_block {
            local sock = assert(ngx.req.socket(true))
            assert(sock:receive(2))
            sock:send("HTTP/1.1 413 X\r\nContent-Length: 4\r\n\r\nmuch")
            require("nhfc").log_rest(sock, 2000)
        }
    }
    location = /echo {
        content_by_lua_block {
            local sock = assert(ngx.req.socket(true))
            sock:send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n")
            for _ = 1, 3 do
                sock:send(assert(sock:receive(2)))
            end
            assert(not sock:receive(1))
        }
    }
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            for _, path in ipairs({ "/refuse", "/echo" }) do
                local i = 0
                local httpc = client.new()
                assert(httpc:connect("127.0.0.1", tonumber(ngx.var.server_port)))
                local res = assert(httpc:request({
                    method = "POST", path = path, headers = { ["Content-Length"] = path == "/echo" and 6 or 2000 },
                    body = function()
                        i = i + 1
                        ngx.sleep(0.02)
                        return path == "/refuse" and "ab" or ({ "ab", "cd", "ef" })[i]
                    end,
                }))
                ngx.say(res.status, " ", res:read_body(), " ", i < 100, " ", httpc:set_keepalive())
            end
        }
    }
--- response_body
413 much true 2connection must be closed
200 abcdef true 1
--- error_log
peer: closed
