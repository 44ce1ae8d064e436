# The runner's sections on requests and responses, on plain nginx. Passes with the runner in t/lib and with
# OpenResty's Test::Nginx; that wrong answers fail is checked by t/scripts/runner-selftest.pl.
use Test::Nginx::Socket 'no_plan';
use NhfcTest;

no_long_string();
env_to_nginx('NHFC_RUNNER=value');
worker_connections(128);

add_block_preprocessor(sub {
    my $block = shift;
    if (!defined $block->config) {
        $block->set_value(config => <<'CONFIG');
    location = /echo {
        content_by_lua_block {
            ngx.req.read_body()
            ngx.say(ngx.req.get_method(), " ", ngx.var.request_uri, " ", ngx.var.server_protocol)
            for _, name in ipairs({ "Host", "Connection", "X-One", "X-Two", "Content-Length", "Transfer-Encoding" }) do
                local value = ngx.req.get_headers()[name]
                if value then
                    ngx.say(name, ": ", value)
                end
            end
            ngx.say("[", ngx.req.get_body_data() or "", "]")
        }
    }
CONFIG
    }
});

run_tests();

__DATA__

=== TEST 1: explicit no_error_log, config and response_body
--- config
    location = /t { return 200 "hello\n"; }
--- request
GET /t
--- response_body
hello
--- no_error_log
[alert]
[crit]
[emerg]
exited on signal



=== TEST 2: the defaults of a request
--- request
GET /echo
--- response_body
GET /echo HTTP/1.1
Host: localhost
Connection: close
[]



=== TEST 3: request line with version, comments, a body that is trimmed
--- request
# this is a comment

POST /echo?a=1 HTTP/1.0
hello
--- response_body
POST /echo?a=1 HTTP/1.0
Host: localhost
Connection: close
Content-Length: 5
[hello]



=== TEST 4: more_headers replaces Host and Connection
--- more_headers
Host: example.test
X-One: 1
# X-Two: no
Connection: close, foo
--- request
GET /echo
--- response_body
GET /echo HTTP/1.1
Host: example.test
Connection: close, foo
X-One: 1
[]



=== TEST 5: a chunked request body is written by the test
--- more_headers
Transfer-Encoding: chunked
--- request eval
"POST /echo\n5\r\nhello\r\n0\r\n\r\n"
--- response_body
POST /echo HTTP/1.1
Host: localhost
Connection: close
Transfer-Encoding: chunked
[hello]



=== TEST 6: several requests, each with its own expectations
--- config
    location = /a { return 200 "a\n"; }
    location = /b { return 404 "b\n"; }
    location = /c { content_by_lua_block { ngx.req.read_body() ngx.print(ngx.req.get_body_data()) } }
--- request eval
["GET /a", "GET /b", "POST /c\nbody"]
--- error_code eval
[200, 404, 200]
--- response_body eval
["a\n", "b\n", qr/^bo/]
--- response_headers eval
["Content-Length: 2", "Content-Type: text/plain\n! X-None", "Transfer-Encoding: chunked"]



=== TEST 7: a request in packets
--- request eval
[["POST /echo\nfirst ", { value => "second", delay_before => 0.02 }, " third"]]
--- response_body
POST /echo HTTP/1.1
Host: localhost
Connection: close
Content-Length: 18
[first second third]



=== TEST 8: more_headers for each of several requests
--- more_headers eval
["X-One: 1", "X-Two: 2"]
--- request eval
["GET /echo", "GET /echo"]
--- response_body_like eval
["X-One: 1", "X-Two: 2"]



=== TEST 9: raw_request, in pieces
--- raw_request eval
["GET /ec", "ho HTTP/1.1\r\nHost: raw\r\nConnection: close\r\n\r\n"]
--- raw_request_middle_delay: 0.02
--- response_body
GET /echo HTTP/1.1
Host: raw
Connection: close
[]



=== TEST 10: pipelined requests on one connection
--- pipelined_requests eval
["GET /echo?1", "POST /echo?2\nbody", "GET /echo?3"]
--- response_body eval
["GET /echo?1 HTTP/1.1\nHost: localhost\nConnection: keep-alive\n[]\n",
"POST /echo?2 HTTP/1.1\nHost: localhost\nConnection: keep-alive\nContent-Length: 4\n[body]\n",
"GET /echo?3 HTTP/1.1\nHost: localhost\nConnection: close\n[]\n"]



=== TEST 11: response_body_like spans lines
--- config
    location = /t { return 200 "one\ntwo\n"; }
--- request
GET /t
--- response_body_like: ^one.two$



=== TEST 12: response_body_unlike
--- config
    location = /t { return 200 "one\n"; }
--- request
GET /t
--- response_body_unlike: two



=== TEST 13: response_body as a regex, chop and eval
--- config
    location = /t { return 200 "port $server_port"; }
--- request
GET /t
--- response_body chop
port $TEST_NGINX_SERVER_PORT



=== TEST 14: response_headers, $ServerPort and absent headers
--- config
    location = /t {
        add_header X-Port $server_port;
        add_header X-Twice a;
        add_header X-Twice b;
        return 204;
    }
--- request
GET /t
--- error_code: 204
--- response_headers
X-Port: $ServerPort
X-Twice: a, b
! X-Nothing



=== TEST 15: response_headers_like
--- config
    location = /t { return 200 ok; }
--- request
GET /t
--- response_headers_like
Server: nginx.*
Content-Length: \d



=== TEST 16: raw_response_headers_like and unlike
--- config
    location = /t { return 302 /there; }
--- request
GET /t
--- error_code: 302
--- raw_response_headers_like: Location: http://localhost(?::\d+)?/there\r\n
--- raw_response_headers_unlike: Set-Cookie



=== TEST 17: error_code_like, and a status that stands for an empty response
--- config
    location = /t { return 444; }
--- request
GET /t
--- error_code_like: ^(?:500)?$



=== TEST 18: HEAD
--- config
    location = /t { return 200 "hello\n"; }
--- request
HEAD /t
--- response_headers
Content-Length: 6
--- response_body



=== TEST 19: http_config, main_config and a random port
--- main_config
    worker_rlimit_core 0;
--- http_config
    server {
        listen 127.0.0.1:$TEST_NGINX_RAND_PORT_1;
        location / { return 200 "other\n"; }
    }
--- config
    location = /t { proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1; }
--- request
GET /t
--- response_body
other



=== TEST 20: env_to_nginx and server_name
--- server_name: name.test
--- config
    location = /t { content_by_lua_block { ngx.say(os.getenv("NHFC_RUNNER"), " ", ngx.var.server_name) } }
--- request
GET /t
--- response_body
value name.test



=== TEST 21: lua_package_path of the checkout
--- config
    location = /t { content_by_lua_block { ngx.say(package.path:find("$TEST_NGINX_LUA_PATH", 1, true) == nil and
        package.path:find(([[$TEST_NGINX_LUA_PATH]]):gsub(";;$", ""), 1, true)) } }
--- request
GET /t
--- response_body
1



=== TEST 22: user_files, the html directory and the root location
--- user_files
>>> one.txt
first
>>> sub/two.txt
second $TEST_NGINX_SERVER_PORT
--- config
    location = /two { alias $TEST_NGINX_HTML_DIR/sub/two.txt; }
--- request eval
["GET /one.txt", "GET /two", "GET /"]
--- response_body eval
["first\n", "second \$TEST_NGINX_SERVER_PORT\n", qr/It works/]



=== TEST 23: user_files as an array
--- user_files eval
[["bin.dat" => "\x00\xff"]]
--- config
--- request
GET /bin.dat
--- response_body eval
"\x00\xff"
