# The nhfc_ directives, and the lua_socket_ ones that stand in for them.
use Test::Nginx::Socket 'no_plan';
use NhfcTest;
use NhfcUpstream qw(deaf);

no_long_string();
worker_connections(256);

# within(ms, f, ...) shows what f returns, and whether it took about so long: not less, and not much longer.
my $helpers = <<'LUA';
    init_by_lua_block {
        function within(ms, f, ...)
            ngx.update_time()
            local start = ngx.now()
            local res, err, partial = f(...)
            ngx.update_time()
            local took = (ngx.now() - start) * 1000
            ngx.say(type(res) == "table" and res.status or res, " ", err, partial and " " .. partial or "", " ",
                    took >= ms - 2 and took < ms + 250 or took)
        end
        function silent()
            local client = require "resty.ngx_http_ffi_client"
            ngx.update_time()
            local start = ngx.now()
            local res, err = client.request_uri({ host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/silent" })
            ngx.update_time()
            return err, ngx.now() - start
        end
    }
LUA

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value(http_config => $helpers . ($block->http_config // ''));
});

run_tests();

__DATA__

=== TEST 1: without directives of ours those of cosockets are in force
--- http_config
    lua_socket_connect_timeout 100ms;
    lua_socket_send_timeout 150ms;
    server {
        listen 127.0.0.1:$TEST_NGINX_RAND_PORT_3;
        client_max_body_size 0;
        location / { content_by_lua_block { ngx.sleep(1) } }
    }
--- config
    location = /t {
        lua_socket_read_timeout 200ms;
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local httpc = client.new()
            within(100, client.request_uri, { host = "127.0.0.1", port = $TEST_NGINX_DEAF_PORT })
            within(100, httpc.connect, httpc, "127.0.0.1", $TEST_NGINX_DEAF_PORT)
            within(150, client.request_uri, {
                host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_3, method = "POST", body = ("x"):rep(20000000),
            })
            within(200, client.request_uri, { host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/silent" })
            assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            within(200, httpc.request, httpc, { path = "/silent" })
            within(200, httpc.request_uri, httpc, "http://127.0.0.1:$TEST_NGINX_RAND_PORT_1/silent")
            within(60, client.request_uri, { host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/silent", timeout = 60 })
        }
    }
--- response_body eval
"nil timeout true\n" x 7



=== TEST 2: ours come before those, the option before ours
--- http_config
    nhfc_connect_timeout 100ms;
    lua_socket_connect_timeout 400ms;
    lua_socket_read_timeout 400ms;
    server {
        listen 127.0.0.1:$TEST_NGINX_RAND_PORT_3;
        client_max_body_size 0;
        location / { content_by_lua_block { ngx.sleep(1) } }
    }
--- config
    nhfc_send_timeout 150ms;
    nhfc_read_timeout 400ms;
    lua_socket_send_timeout 400ms;
    location = /t {
        nhfc_read_timeout 200ms;
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local silent = { host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/silent" }
            within(100, client.request_uri, { host = "127.0.0.1", port = $TEST_NGINX_DEAF_PORT })
            within(150, client.request_uri, {
                host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_3, method = "POST", body = ("x"):rep(20000000),
            })
            within(200, client.request_uri, silent)
            silent.read_timeout = 60
            within(60, client.request_uri, silent)
            silent.read_timeout = 500
            within(500, client.request_uri, silent)
        }
    }
--- response_body eval
"nil timeout true\n" x 5



=== TEST 3: what is in force is that of the location, also in a subrequest
--- http_config
    nhfc_read_timeout 150ms;
--- config
    location = /sub {
        nhfc_read_timeout 50ms;
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            within(50, client.request_uri, { host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/silent" })
        }
    }
    location = /t {
        nhfc_read_timeout 100ms;
        content_by_lua_block {
            ngx.print(ngx.location.capture("/sub").body)
            local client = require "resty.ngx_http_ffi_client"
            within(100, client.request_uri, { host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/silent" })
        }
    }
    location = /inherits {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            within(150, client.request_uri, { host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/silent" })
        }
    }
--- request eval
["GET /t", "GET /inherits"]
--- response_body eval
["nil timeout true\nnil timeout true\n", "nil timeout true\n"]



=== TEST 4: in a timer those of the location that started it, or of the http level
--- http_config
    nhfc_read_timeout 100ms;
    lua_socket_read_timeout 400ms;
    init_worker_by_lua_block {
        ngx.timer.at(0, function() early = { silent() } end)
    }
--- config
    location = /t {
        nhfc_read_timeout 200ms;
        content_by_lua_block {
            ngx.timer.at(0, function() late = { silent() } end)
            while not (early and late) do
                ngx.sleep(0.01)
            end
            ngx.say(early[1], " ", early[2] >= 0.098 and early[2] < 0.19 or early[2])
            ngx.say(late[1], " ", late[2] >= 0.198 and late[2] < 0.39 or late[2])
        }
    }
--- response_body
timeout true
timeout true



=== TEST 5: a timeout of 0 is no limit
--- config
    lua_socket_read_timeout 50ms;
    location = /t {
        nhfc_read_timeout 0;
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            within(150, client.request_uri, {
                host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/raw",
                query = { pause = 150, piece = { "HTTP/1.1 200 OK\r\n", "\r\n" } },
            })
        }
    }
--- response_body
200 nil true



=== TEST 6: idle time and size of pools: lua_socket_, and ours before them
--- http_config
    lua_socket_keepalive_timeout 50ms;
    lua_socket_pool_size 2;
--- config
    location = /theirs {
        content_by_lua_block { pooled("theirs") }
    }
    location = /ours {
        nhfc_keepalive_timeout 200ms;
        nhfc_pool_size 3;
        content_by_lua_block { pooled("ours") }
    }
    location = /t {
        content_by_lua_block {
            function pooled(pool)
                local client = require "resty.ngx_http_ffi_client"
                local target = { host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, pool = pool, path = "/connection", preread_body = true }
                local function several()
                    local all, reused = {}, 0
                    for i = 1, 5 do
                        all[i] = client.new()
                        assert(all[i]:connect(target))
                        reused = reused + math.min(all[i]:get_reused_times(), 1)
                        assert(all[i]:request(target))
                    end
                    for i = 1, 5 do
                        assert(all[i]:set_keepalive())
                    end
                    ngx.say(pool, " ", reused)
                end
                several()
                several()
                ngx.sleep(0.1)
                several()
            end
            ngx.print(ngx.location.capture("/theirs").body, ngx.location.capture("/ours").body)
        }
    }
--- response_body
theirs 0
theirs 2
theirs 0
ours 0
ours 3
ours 3
--- no_error_log
[alert]
[crit]
[emerg]
exited on signal



=== TEST 7: case 34, nhfc_max_header_size
--- http_config
    nhfc_max_header_size 1k;
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local function ask(size)
                local head = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-A: "
                head = head .. ("x"):rep(size - #head - 4) .. "\r\n\r\n"
                local res, err = client.request_uri({
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/raw", query = { piece = head .. "ok" },
                })
                ngx.say(res and res.body, " ", err)
            end
            ask(1024)
            ask(1025)
            ask(3000)
        }
    }
--- response_body
ok nil
nil response header too large
nil response header too large



=== TEST 8: case 34, the head is 64 KB at most, without a directive
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local res, err = client.request_uri({ host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_3 })
            ngx.say(res, " ", err)
        }
    }
--- tcp_listen: $TEST_NGINX_RAND_PORT_3
--- tcp_reply eval
"HTTP/1.1 200 OK\r\nX-A: " . ("x" x 70000) . "\r\nContent-Length: 0\r\n\r\n"
--- response_body
nil response header too large



=== TEST 9: case 34, nhfc_max_header_lines, for headers and for trailers
--- http_config
    nhfc_max_header_lines 4;
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local function ask(headers, trailers)
                local res, err = client.request_uri({
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/raw",
                    query = { piece = "HTTP/1.1 200 OK\r\n" .. ("A: b\r\n"):rep(headers) .. "Transfer-Encoding: chunked\r\n\r\n0\r\n"
                              .. ("T: t\r\n"):rep(trailers) .. "\r\n" },
                })
                ngx.say(res and res.status, " ", err)
            end
            ask(3, 0)
            ask(4, 0)
            ask(0, 4)
            ask(0, 5)
        }
    }
--- response_body_like
^200 nil
nil response has too many header lines
200 nil
nil response (has too many header lines|trailers too large)



=== TEST 10: nhfc_max_interim_responses
--- http_config
    nhfc_max_interim_responses 2;
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            for n = 1, 3 do
                local res, err = client.request_uri({
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/raw",
                    query = { piece = ("HTTP/1.1 102 Processing\r\n\r\n"):rep(n) .. "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" },
                })
                ngx.say(res and res.status, " ", err)
            end
        }
    }
--- response_body
200 nil
200 nil
nil too many interim responses



=== TEST 11: case 87, nhfc_max_body_size is for bodies in one piece, not for streams
--- http_config
    nhfc_max_body_size 300k;
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local function said(res, err)
                ngx.say(res and math.floor(#(res.body or res) / 1024), " ", err)
            end
            for _, size in ipairs({ 299, 301, 900 }) do
                local target = {
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, method = "POST", path = "/", body = ("x"):rep(size * 1024 - 500),
                }
                said(client.request_uri(target))
                local httpc = client.new()
                assert(httpc:connect(target))
                said(assert(httpc:request(target)):read_body())
                assert(httpc:connect(target))
                local total = 0
                for piece in assert(httpc:request(target)).body_reader do
                    total = total + #piece
                end
                ngx.say(total > size * 1024 - 500)
            end
        }
    }
--- response_body
298 nil
298 nil
true
nil response body too large
nil response body too large
true
nil response body too large
nil response body too large
true



=== TEST 12: case 87, nhfc_max_body_size to the byte, however little there is, with a length and without
--- http_config
    nhfc_max_body_size 4k;
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local function said(res, err)
                ngx.say(res and #(res.body or res), " ", err)
            end
            for _, framing in ipairs({ "Content-Length: %d\r\n\r\n", "\r\n" }) do
                for _, size in ipairs({ 4096, 4097 }) do
                    local query = { piece = "HTTP/1.1 200 OK\r\n" .. framing:format(size) .. ("x"):rep(size) }
                    local target = { host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/raw", query = query }
                    said(client.request_uri(target))
                    local httpc = client.new()
                    assert(httpc:connect(target))
                    said(assert(httpc:request(target)):read_body())
                end
            end
        }
    }
--- response_body eval
"4096 nil\n4096 nil\nnil response body too large\nnil response body too large\n" x 2



=== TEST 13: nhfc_trace puts the states of each connection into the log, at level notice
--- http_config
    nhfc_trace on;
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            ngx.say(assert(client.request_uri({
                host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/connection", headers = { ["X-Secret"] = "hidden" },
            })).body)
        }
    }
--- response_body
1:1
--- error_log eval
[qr/\[notice\].*nhfc: .*Connecting/, qr/\[notice\].*nhfc: .*ReadingHead/, qr/\[notice\].*nhfc: .*Closed/]
--- no_error_log eval
[qr/nhfc: .*hidden/, "[error]", "[alert]", "[crit]", "[emerg]", "exited on signal"]



=== TEST 14: without it there is not a line
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            ngx.say(assert(client.request_uri({ host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/connection" })).body)
        }
    }
--- response_body
1:1
--- no_error_log
nhfc:
[error]
[alert]
[crit]
[emerg]
exited on signal



=== TEST 15: a limit in a location is refused
--- config
    location = /t { nhfc_max_body_size 1m; }
--- must_die
--- suppress_stderr
--- error_log
[emerg]
"nhfc_max_body_size" directive is not allowed here



=== TEST 16: a directive that is there twice is refused
--- http_config
    nhfc_read_timeout 1s;
    nhfc_read_timeout 2s;
--- config
--- must_die
--- suppress_stderr
--- error_log
[emerg]
"nhfc_read_timeout" directive is duplicate



=== TEST 17: a value that is none is refused
--- config
    nhfc_pool_size many;
--- must_die
--- suppress_stderr
--- error_log
[emerg]
invalid number
