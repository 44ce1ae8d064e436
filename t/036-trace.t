# Traces in the error log: of everything, of one origin, of one request.
use Test::Nginx::Socket 'no_plan';
use NhfcTest;
use NhfcUpstream;

no_long_string();
worker_connections(256);

# fetch(port, path, more) and what an object does, each with the options in `more`.
my $helpers = <<'LUA';
    init_by_lua_block {
        local function with(more, opts)
            for name, value in pairs(more or {}) do
                opts[name] = value
            end
            return opts
        end
        function fetch(port, path, more)
            local client = require "resty.ngx_http_ffi_client"
            local res = assert(client.request_uri(with(more, { host = "127.0.0.1", port = port, path = path, keepalive = true })))
            return res.status
        end
        function object(port, connect, request, path)
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            assert(httpc:connect(with(connect, { host = "127.0.0.1", port = port })))
            local res = assert(httpc:request(with(request, { path = path })))
            assert(res:read_body())
            assert(httpc:set_keepalive())
            return res.status
        end
    }
LUA

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value(http_config => $helpers . ($block->http_config // ''));
});

run_tests();

__DATA__

=== TEST 1: trace = true traces one request, and its connection as long as it is its
--- config
    location = /t {
        content_by_lua_block {
            local port = $TEST_NGINX_RAND_PORT_1
            ngx.say(fetch(port, "/before"), fetch(port, "/asked", { trace = true }), fetch(port, "/after"))
        }
    }
--- response_body
200200200
--- grep_error_log eval
qr/nhfc: +[0-9]+ms [ce][0-9]+ . .*?(?= while|, client|$)/
--- grep_error_log_out eval
qr{\A(?:nhfc: +\d+ms )e1 > fetch     GET http://127\.0\.0\.1:\d+/asked body=0
(?:nhfc: +\d+ms )c0 = Pooled -> Writing
(?:nhfc: +\d+ms )e1 = Queued -> Sending
(?:nhfc: +\d+ms )c0 = Writing -> ReadingHead
(?:nhfc: +\d+ms )e1 = Sending -> Receiving
(?:nhfc: +\d+ms )c0 = ReadingHead -> ReadingBody
(?:nhfc: +\d+ms )e1 < head      200 HTTP/1\.1 \d+ lines
(?:nhfc: +\d+ms )c0 = ReadingBody -> Pooled
(?:nhfc: +\d+ms )e1 = Receiving -> Done
(?:nhfc: +\d+ms )e1 < end       0 trailers
\z}



=== TEST 2: the other form of request_uri takes it, too
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            for _, path in ipairs{ "/before", "/asked", "/after" } do
                local uri = "http://127.0.0.1:$TEST_NGINX_RAND_PORT_1" .. path
                ngx.say(assert(httpc:request_uri(uri, { trace = path == "/asked" })).status)
            end
        }
    }
--- response_body
200
200
200
--- error_log eval
[qr{nhfc: .* e1 > fetch     GET http://127\.0\.0\.1:\d+/asked}, qr{nhfc: .* e1 < end}]
--- no_error_log eval
[qr{nhfc: .*(?:before|after)}, qr{nhfc: .* e[02] }, "[error]", "[alert]"]



=== TEST 3: connect and request of an object are asked one by one
--- config
    location = /t {
        content_by_lua_block {
            local port = $TEST_NGINX_RAND_PORT_1
            ngx.say(object(port, { trace = true }, nil, "/connected"))
            ngx.say(object(port, nil, { trace = true }, "/requested"))
            ngx.say(object(port, nil, nil, "/neither"))
        }
    }
--- response_body
200
200
200
--- error_log eval
[qr{nhfc: .* e0 > connect   http://127\.0\.0\.1:\d+\b}, qr{nhfc: .* c0 = Connecting -> Held}, qr{nhfc: .* e0 < connected},
 qr{nhfc: .* e3 > request   GET http://127\.0\.0\.1:\d+/requested}, qr{nhfc: .* c0 = Held -> Writing}, qr{nhfc: .* e3 < end}]
--- no_error_log eval
[qr{nhfc: .*/(?:connected|neither)}, qr{nhfc: .* e[1245] }, qr{nhfc: .*Pooled -> Held}, "[error]", "[alert]"]



=== TEST 4: nhfc_trace with origins traces these, whatever the pool
--- http_config
    nhfc_trace http://a.invalid https://127.0.0.1:$TEST_NGINX_RAND_PORT_2 http://127.0.0.1:$TEST_NGINX_RAND_PORT_1/;
--- config
    location = /t {
        content_by_lua_block {
            local one, other = $TEST_NGINX_RAND_PORT_1, $TEST_NGINX_RAND_PORT_2
            ngx.say(fetch(one, "/one"), fetch(other, "/other"))
            ngx.say(fetch(one, "/one/named", { keepalive = { pool = "p" } }), fetch(other, "/other/named", { keepalive = { pool = "p" } }))
            ngx.say(object(one, nil, nil, "/one/object"), object(other, nil, nil, "/other/object"))
        }
    }
--- response_body
200200
200200
200200
--- error_log eval
[qr{nhfc: .* > fetch .*/one body}, qr{nhfc: .* > fetch .*/one/named}, qr{nhfc: .* > request .*/one/object},
 qr{nhfc: .* c0 = ReadingBody -> Pooled}, qr{nhfc: .* c0 = Pooled -> Held}]
--- no_error_log eval
[qr{nhfc: .*/other}, qr{nhfc: .* c[13] }, "[error]", "[alert]"]



=== TEST 5: no byte is logged unless nhfc_trace_bytes says so
--- config
    location = /t {
        content_by_lua_block {
            ngx.say(fetch($TEST_NGINX_RAND_PORT_1, "/asked", { trace = true, headers = { ["X-Secret"] = "hidden" }, query = "q=hidden" }))
        }
    }
--- response_body
200
--- error_log eval
qr{nhfc: .* > fetch .*/asked body}
--- no_error_log eval
[qr/nhfc: .*hidden/, qr/nhfc: .* c0 >/, "[error]", "[alert]"]



=== TEST 6: with it every fact is there, with the bytes that went and came
--- http_config
    nhfc_trace_bytes on;
    nhfc_read_timeout 2s;
--- config
    location = /t {
        content_by_lua_block {
            local port = $TEST_NGINX_RAND_PORT_1
            local piece = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n\"\\\t\0\200ok\r\n"
            ngx.say(fetch(port, "/raw", { trace = true, query = { piece = piece }, headers = { ["X-Secret"] = "s" } }))
            ngx.say(fetch(port, "/quiet"))
        }
    }
--- response_body
200
200
--- error_log eval
[qr{e0 > fetch     GET http://127\.0\.0\.1:\d+/raw keepalive=60000 size=30 .*connect=60000 sending=60000 read=2000$}m,
 qr{c0 > connected}, qr{c0 > sent "GET /raw\?piece=\S+ HTTP/1\.1\\r\\nHost: 127\.0\.0\.1:\d+\\r\\nX-Secret: s\\r\\nConnection: keep-alive\\r\\n\\r\\n"},
 qr{c0 > bytes "HTTP/1\.1 200 OK\\r\\nContent-Length: 9\\r\\n\\r\\n\\"\\\\\\t\\x00\\xc8ok\\r\\n"}]
--- no_error_log eval
[qr{nhfc: .*quiet}, "[error]", "[alert]"]



=== TEST 7: a line has at most 400 bytes, and says that the next one continues it
--- http_config
    nhfc_trace_bytes on;
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            ngx.say(#assert(client.request_uri({
                host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/", method = "POST", body = ("\1"):rep(1000), trace = true,
            })).body > 1000)
        }
    }
--- response_body
true
--- grep_error_log eval
qr/c0 > (?:sent|bytes)\+? "(?=[^ ]*\\x01)/
--- grep_error_log_out eval
qr/\A(?:c0 > sent\+ "\n)+c0 > sent "\n(?:c0 > bytes\+ "\n)+c0 > bytes "\n\z/
--- error_log eval
qr/c0 > sent\+ "(?:\\x01){400}"/



=== TEST 8: nhfc_trace refuses what is no origin
--- http_config
    nhfc_trace http://127.0.0.1:80/path;
--- config
--- must_die
--- error_log
"nhfc_trace" directive takes "on", "off", or origins such as http://host:port



=== TEST 9: nhfc_trace is there once
--- http_config
    nhfc_trace off;
    nhfc_trace http://127.0.0.1:80;
--- config
--- must_die
--- error_log
"nhfc_trace" directive is duplicate
