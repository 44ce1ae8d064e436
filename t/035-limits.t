# What a response may cost: the option `limits`, the directives behind it, and the deadline.
use Test::Nginx::Socket 'no_plan';
use NhfcTest;
use NhfcUpstream qw(deaf);

no_long_string();
worker_connections(256);

# target(reply, limits, ...) asks for a raw reply within limits; said(...) shows what came of it. With a number behind them
# the peer keeps the connection open, so that a client that waits for more ends with "timeout". dripping() asks for 60 bytes
# that take a second.
my $helpers = <<'LUA';
    init_by_lua_block {
        function target(piece, limits, hold)
            return {
                host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/raw", limits = limits, read_timeout = 1000,
                query = { piece = piece, pause = 5, hold = hold },
            }
        end
        function dripping()
            local pieces = { "HTTP/1.1 200 OK\r\n\r\n" }
            for i = 1, 60 do
                pieces[i + 1] = "x"
            end
            local options = target(pieces)
            options.query.pause = 15
            return options
        end
        function said(res, err)
            ngx.say(res and (res.body or res.status or res) or res, " ", err)
        end
        function streamed(options)
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            httpc:set_timeout(1000)
            assert(httpc:connect(options))
            return httpc, assert(httpc:request(options))
        end
        function chunked(body)
            return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" .. body
        end
    }
LUA

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value(http_config => $helpers . ($block->http_config // ''));
});

run_tests();

__DATA__

=== TEST 1: case 34, each limit as an option: the last that passes, and one more
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local function try(name, most, piece)
                said(client.request_uri(target(piece, { [name] = most }, 1)))
                said(client.request_uri(target(piece, { [name] = most - 1 }, 1)))
            end
            local plain = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"
            try("header_size", #plain, plain .. "ok")
            try("header_lines", 3, "HTTP/1.1 200 OK\r\nA: b\r\nA: c\r\nContent-Length: 2\r\n\r\nok")
            try("interim_responses", 2, ("HTTP/1.1 102 Processing\r\n\r\n"):rep(2) .. plain .. "ok")
            try("chunk_extension_size", 6, chunked("1;a=bc\r\no\r\n1;def\r\nk\r\n0\r\n\r\n"))
            try("trailer_size", 14, chunked("2\r\nok\r\n0\r\nA: b\r\nC: d\r\n\r\n"))
            try("body_size", 2, plain .. "ok")
            try("body_size", 2, chunked("2\r\nok\r\n0\r\n\r\n"))
        }
    }
--- response_body
ok nil
nil response header too large
ok nil
nil response has too many header lines
ok nil
nil too many interim responses
ok nil
nil chunk extensions too large
ok nil
nil response trailers too large
ok nil
nil response body too large
ok nil
nil response body too large



=== TEST 2: nothing at all may come: 0 is a limit
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local none = { interim_responses = 0, chunk_extension_size = 0, trailer_size = 0, body_size = 0 }
            local function try(piece)
                said(client.request_uri(target(piece, none, 1)))
            end
            try(chunked("0\r\n\r\n"))
            try("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            try("HTTP/1.1 102 Processing\r\n\r\n")
            try(chunked("0;a"))
            try(chunked("0\r\nA:b\r\n\r\n"))
            try(chunked("1\r\nx"))
            try("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n")
            said(client.request_uri(target("HTTP/1.1 200 OK\r\n\r\nx", none)))
            said(client.request_uri(target("HTTP/1.1 200 OK\r\n\r\n", { header_size = 0 }, 1)))
        }
    }
--- response_body eval
" nil\n nil\n" . <<'OUT'
nil too many interim responses
nil chunk extensions too large
nil response trailers too large
nil response body too large
nil response body too large
nil response body too large
nil response header too large
OUT



=== TEST 3: case 34, an option lowers what the directive allows, and does not raise it
--- http_config
    nhfc_max_header_size 100;
    nhfc_max_header_lines 3;
    nhfc_max_interim_responses 1;
    nhfc_max_chunk_extension_size 4;
    nhfc_max_trailer_size 10;
    nhfc_max_body_size 5;
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local more = { header_size = 1e6, header_lines = math.huge, interim_responses = 1000, chunk_extension_size = 1e30,
                           trailer_size = 2 ^ 32, body_size = 2 ^ 53 }
            local plain = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
            for _, limits in ipairs({ false, more }) do
                local function try(piece)
                    said(client.request_uri(target(piece, limits)))
                end
                try(plain)
                try("HTTP/1.1 200 OK\r\nA: " .. ("x"):rep(100) .. "\r\n\r\n")
                try("HTTP/1.1 200 OK\r\n" .. ("A: b\r\n"):rep(4) .. "\r\n")
                try(("HTTP/1.1 102 Processing\r\n\r\n"):rep(2) .. plain)
                try(chunked("1;abcd\r\nx\r\n0\r\n\r\n"))
                try(chunked("1;abcd\r\nx\r\n0;e\r\n\r\n"))
                try(chunked("0\r\nA: bcd\r\n\r\n"))
                try(chunked("0\r\nA: bcde\r\n\r\n"))
                try("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello!")
            end
        }
    }
--- response_body eval
<<'OUT' x 2
hello nil
nil response header too large
nil response has too many header lines
nil too many interim responses
x nil
nil chunk extensions too large
 nil
nil response trailers too large
nil response body too large
OUT



=== TEST 4: in every call that sends a request; what one may not cost, the next on its connection may
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local address = "http://127.0.0.1:" .. $TEST_NGINX_RAND_PORT_1
            local httpc = client.new()
            said(httpc:request_uri(address .. "/connection", { limits = { header_size = 20 } }))
            said(httpc:request_uri(address .. "/connection", { limits = { body_size = 3 } }))
            said(httpc:request_uri(address .. "/connection", { limits = { body_size = 2 } }))
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            for _, params in ipairs({
                { path = "/connection", limits = { header_lines = 1000 } },
                { path = "/connection", preread_body = true, limits = { body_size = 3 } },
                { path = "/connection", preread_body = true },
                { path = "/connection", preread_body = true, limits = { body_size = 2 } },
            }) do
                local res, err = httpc:request(params)
                said(res and res:read_body(), err)
            end
            ngx.say(httpc:request({ path = "/connection" }))
        }
    }
--- response_body
nil response header too large
2:1 nil
nil response body too large
3:1 nil
3:2 nil
3:3 nil
nil response body too large
nilclosed



=== TEST 5: limits that are none are errors, before a byte is sent
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            local options = { host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/connection" }
            for _, limits in ipairs({ 1, "x", true, { header_size = "1k" }, { header_lines = -1 }, { body_size = 0 / 0 },
                                      { interim_responses = {} }, { trailer_size = false }, { chunk_extension_size = "" } }) do
                options.limits = limits
                local _, err = client.request_uri(options)
                ngx.say(err)
                local _, same = httpc:request_uri("http://127.0.0.1:" .. options.port, options)
                assert(httpc:connect("127.0.0.1", options.port))
                local _, too = httpc:request(options)
                assert(err == same and err == too)
            end
            options.limits = nil
            ngx.say(assert(httpc:request(options)):read_body())
        }
    }
--- response_body
limits must be a table, not number
limits must be a table, not string
limits must be a table, not boolean
limits.header_size must be a number of at least 0
limits.header_lines must be a number of at least 0
limits.body_size must be a number of at least 0
limits.interim_responses must be a number of at least 0
limits.trailer_size must be a number of at least 0
limits.chunk_extension_size must be a number of at least 0
1:1



=== TEST 6: case 87, a stream with a cap: so many bytes, then the error, and the connection is gone
--- config
    location = /t {
        content_by_lua_block {
            for _, piece in ipairs({
                "HTTP/1.1 200 OK\r\n\r\n0123456789x", chunked("6\r\n012345\r\n6\r\n6789xy\r\n"),
                "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n0123456789x",
            }) do
                local httpc, res = streamed(target({ piece:sub(1, -4), piece:sub(-3) }, { body_size = 10 }, 1))
                local parts = {}
                local part, err
                repeat
                    part, err = res.body_reader()
                    parts[#parts + 1] = part
                until not part
                local _, again = res.body_reader()
                ngx.say(table.concat(parts), " ", err, " ", again, " ", (select(2, httpc:set_keepalive())))
            end
        }
    }
--- response_body
0123456789 response body too large response body too large closed
0123456789 response body too large response body too large closed
 response body too large response body too large closed
--- grep_error_log eval
qr/(?<=upstream: )client \w+/
--- grep_error_log_out
client closed
client closed
client closed



=== TEST 7: case 87, a body that announces itself as too large is not waited for
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local large = "HTTP/1.1 200 OK\r\nContent-Length: 134217738\r\n\r\n"
            said(client.request_uri(target(large, nil, 1)))
            local _, res = streamed(target(large .. "first", nil, 1))
            said(res.body_reader(3))
            ngx.say(table.concat({ tostring(nil), select(2, res:read_body()) }, " "))
            ngx.say(table.concat({ tostring(nil), select(2, res:read_body()) }, " "))
        }
    }
--- response_body
nil response body too large
fir nil
nil response body too large st
nil response body too large 



=== TEST 8: case 87, nhfc_deadline, for connecting and for each request; the option comes before it
--- config
    location = /t {
        nhfc_deadline 400ms;
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local options = dripping()
            said(client.request_uri(options))
            local _, res = streamed(options)
            local n, part, err = 0
            repeat
                part, err = res.body_reader()
                n = n + (part and #part or 0)
            until not part
            ngx.say(n > 0 and n < 60, " ", err)
            options.deadline = 5000
            ngx.say(#assert(client.request_uri(options)).body)
            options.deadline = 20
            said(client.request_uri(options))
            options.deadline = nil
            local httpc = client.new()
            httpc:set_timeout(5000)
            ngx.update_time()
            local start = ngx.now()
            local _, err = httpc:connect("127.0.0.1", $TEST_NGINX_DEAF_PORT)
            ngx.update_time()
            ngx.say(err, " ", ngx.now() - start < 4)
            ngx.say(ngx.location.capture("/without").body)
        }
    }
    location = /without {
        nhfc_deadline 0;
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            ngx.print(#assert(client.request_uri(dripping())).body)
        }
    }
--- timeout: 20
--- response_body
nil timeout
true timeout
60
nil timeout
timeout true
60



=== TEST 9: more header lines than there can be room for are no limit
--- http_config
    nhfc_max_header_lines 65536;
--- config
--- must_die
--- suppress_stderr
--- error_log
[emerg]
value must be between 0 and 65535



=== TEST 10: case 87, read_body of a stream that is too large for it gives what is allowed along with the error
--- http_config
    nhfc_max_body_size 5;
--- config
    location = /t {
        content_by_lua_block {
            for _, piece in ipairs({
                "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n01234567", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n01234567",
                chunked("8\r\n01234567\r\n0\r\n\r\n"), chunked("8\r\n01234567\r\n"),
            }) do
                local httpc, res = streamed(target(piece, nil, 1))
                ngx.sleep(0.02)
                local body, err, partial = res:read_body()
                ngx.say(body, " ", err, " ", partial, " ", (select(2, res:read_body())), " ", (httpc:set_keepalive()))
            end
        }
    }
--- response_body eval
"nil response body too large 01234 response body too large nil\n" x 4
