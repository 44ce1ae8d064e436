# The runner's own sections, each used once on plain nginx. Passes with the runner in t/lib and with
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



=== TEST 24: error_log lines, regexes and several patterns
--- config
    location = /t {
        content_by_lua_block {
            ngx.log(ngx.WARN, "first (literal)")
            ngx.log(ngx.ERR, "second 42")
            ngx.say("ok")
        }
    }
--- request
GET /t
--- error_log eval
["first (literal)", qr/\[error\] .*second \d+/]
--- no_error_log eval
[qr/third/, "[alert]", "[crit]", "[emerg]", "exited on signal"]



=== TEST 25: error_log in several lines
--- config
    location = /t { content_by_lua_block { ngx.log(ngx.WARN, "one") ngx.log(ngx.WARN, "two") ngx.say("ok") } }
--- request
GET /t
--- error_log
one
two



=== TEST 26: the log after the response, and wait
--- config
    location = /t {
        content_by_lua_block {
            ngx.say("ok")
            ngx.timer.at(0.2, function() ngx.log(ngx.WARN, "late line") end)
        }
        log_by_lua_block { ngx.log(ngx.WARN, "log phase") }
    }
--- request
GET /t
--- wait: 0.3
--- error_log
log phase
late line



=== TEST 27: each of several requests has a log of its own
--- config
    location = /t { content_by_lua_block { ngx.log(ngx.WARN, "asked for ", ngx.var.arg_a) ngx.say("ok") } }
--- request eval
["GET /t?a=1", "GET /t?a=2"]
--- response_body eval
["ok\n", "ok\n"]
--- error_log
asked for



=== TEST 28: severe lines that the block expects
--- config
    location = /t {
        content_by_lua_block {
            ngx.log(ngx.CRIT, "on purpose")
            ngx.log(ngx.ALERT, "this too")
            ngx.say("ok")
        }
    }
--- request
GET /t
--- error_log
[crit]
[alert]
--- no_error_log
[emerg]
exited on signal



=== TEST 29: severe lines that the block expects leave the default of no_error_log
--- config
    location = /t { content_by_lua_block { ngx.log(ngx.CRIT, "on purpose") ngx.say("ok") } }
--- request
GET /t
--- error_log
[crit]



=== TEST 30: log_level
--- log_level: error
--- config
    location = /t { content_by_lua_block { ngx.log(ngx.WARN, "quiet") ngx.log(ngx.ERR, "loud") ngx.say("ok") } }
--- request
GET /t
--- error_log
loud
--- no_error_log
quiet
[debug]
[alert]
[crit]
[emerg]
exited on signal



=== TEST 31: grep_error_log
--- config
    location = /t {
        content_by_lua_block {
            for i = 1, 3 do ngx.log(ngx.WARN, "step ", i, " of 3;") end
            ngx.say("ok")
        }
    }
--- request
GET /t
--- grep_error_log eval: qr/step \d of 3/
--- grep_error_log_out
step 1 of 3
step 2 of 3
step 3 of 3



=== TEST 32: grep_error_log with a string that is not there
--- config
    location = /t { return 200 ok; }
--- request
GET /t
--- grep_error_log: not (logged)
--- grep_error_log_out



=== TEST 33: abort turns the timeout into a way to end the request
--- config
    location = /t {
        lua_check_client_abort on;
        content_by_lua_block {
            ngx.on_abort(function() ngx.log(ngx.WARN, "client went away") ngx.exit(499) end)
            ngx.sleep(5)
        }
    }
--- request
GET /t
--- timeout: 100ms
--- abort
--- ignore_response
--- wait: 0.1
--- error_log
client went away



=== TEST 34: a timeout longer than the response takes
--- config
    location = /t { content_by_lua_block { ngx.sleep(0.3) ngx.say("slow") } }
--- request
GET /t
--- timeout: 2s
--- response_body
slow



=== TEST 35: shutdown of the client's sending side
--- config
    location = /t {
        content_by_lua_block {
            local socket = ngx.req.socket(true)
            local data = socket:receive("*a")
            socket:send("HTTP/1.1 200 OK\r\nContent-Length: " .. #data .. "\r\n\r\n" .. data)
        }
    }
--- raw_request eval
"GET /t HTTP/1.1\r\nHost: a\r\n\r\nrest"
--- shutdown
--- response_body chop
rest



=== TEST 36: tcp_listen, tcp_reply, tcp_query
--- config
    location = /t {
        content_by_lua_block {
            local socket = ngx.socket.tcp()
            assert(socket:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            socket:send("first ")
            ngx.sleep(0.05)
            socket:send("second")
            ngx.say(socket:receive("*a"))
        }
    }
--- tcp_listen: $TEST_NGINX_RAND_PORT_1
--- tcp_query chop
first second
--- tcp_query_len: 12
--- tcp_reply: reply
--- request
GET /t
--- response_body
reply



=== TEST 37: tcp_reply from code, after a delay, in pieces
--- config
    location = /t {
        content_by_lua_block {
            local socket = ngx.socket.tcp()
            assert(socket:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            local start = ngx.now()
            socket:send("query")
            ngx.say(socket:receive("*a"))
            ngx.update_time()
            ngx.say(ngx.now() - start >= 0.09)
        }
    }
--- tcp_listen: $TEST_NGINX_RAND_PORT_1
--- tcp_reply_delay: 100ms
--- tcp_reply eval
sub { my $query = shift; return ["<", $query, ">"] }
--- request
GET /t
--- response_body
<query>
true



=== TEST 38: tcp_no_close keeps the connection
--- config
    location = /t {
        content_by_lua_block {
            local socket = ngx.socket.tcp()
            assert(socket:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            socket:settimeout(100)
            socket:send("query")
            local data, err, partial = socket:receive("*a")
            ngx.say(data, " ", err, " ", partial)
        }
    }
--- tcp_listen: $TEST_NGINX_RAND_PORT_1
--- tcp_reply: reply
--- tcp_no_close
--- request
GET /t
--- response_body
nil timeout reply
--- error_log
lua tcp socket read timed out



=== TEST 39: tcp_shutdown of the sending side
--- config
    location = /t {
        content_by_lua_block {
            local socket = ngx.socket.tcp()
            assert(socket:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            local data, err = socket:receive(1)
            ngx.say(data, " ", err, " ", socket:send("query"))
        }
    }
--- tcp_listen: $TEST_NGINX_RAND_PORT_1
--- tcp_shutdown: 1
--- tcp_query_len: 5
--- request
GET /t
--- response_body
nil closed 5



=== TEST 40: the server of tcp_listen serves one connection
--- config
    location = /t {
        content_by_lua_block {
            for i = 1, 2 do
                local socket = ngx.socket.tcp()
                socket:settimeout(100)
                local ok = socket:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1)
                socket:send("query")
                ngx.say(ok, " ", (socket:receive("*a")))
            end
        }
    }
--- tcp_listen: $TEST_NGINX_RAND_PORT_1
--- tcp_reply: reply
--- request
GET /t
--- response_body
1 reply
1 nil
--- error_log
lua tcp socket read timed out



=== TEST 41: tcp_listen on a unix socket
--- config
    location = /t {
        content_by_lua_block {
            local socket = ngx.socket.tcp()
            assert(socket:connect("unix:$TEST_NGINX_HTML_DIR/up.sock"))
            socket:send("query")
            ngx.say(socket:receive("*a"))
        }
    }
--- tcp_listen: $TEST_NGINX_HTML_DIR/up.sock
--- tcp_reply: reply
--- request
GET /t
--- response_body
reply



=== TEST 42: must_die
--- config
    location = /t { return a b c; }
--- request
GET /t
--- must_die
--- error_log
invalid number of arguments in "return" directive
--- no_error_log
[alert]



=== TEST 43: must_die with an exit code
--- config
    nhfc_no_such_directive on;
--- must_die: 1
--- error_log
[emerg]
unknown directive



=== TEST 44: skip_nginx skips
--- config
    nhfc_no_such_directive on;
--- request
GET /t
--- skip_nginx
2: >= 0.1.0



=== TEST 45: skip_nginx runs
--- config
    location = /t { return 200 "ran\n"; }
--- request
GET /t
--- response_body
ran
--- skip_nginx
2: < 0.1.0



=== TEST 46: skip_eval and skip_nginx2
--- config
    nhfc_no_such_directive on;
--- request
GET /t
--- skip_eval: 2: 1 == 1



=== TEST 47: SKIP
--- config
    nhfc_no_such_directive on;
--- request
GET /t
--- SKIP



=== TEST 48: lines that are logged while nginx stops
--- http_config
    lua_package_path "$TEST_NGINX_LUA_PATH";
    exit_worker_by_lua_block { ngx.log(ngx.WARN, "worker goes") }
--- config
    location = /t { return 200 ok; }
--- request
GET /t
--- no_error_log
worker goes
--- shutdown_error_log
worker goes
--- no_shutdown_error_log
[alert]



=== TEST 49: tcp_query_auto_timeout ends a query by silence
--- config
    location = /t {
        content_by_lua_block {
            local socket = ngx.socket.tcp()
            assert(socket:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            socket:send("part")
            ngx.say(socket:receive("*a"))
        }
    }
--- tcp_listen: $TEST_NGINX_RAND_PORT_1
--- tcp_query_auto_timeout: 0.1
--- tcp_query chop
part
--- tcp_reply: reply
--- request
GET /t
--- response_body
reply



=== TEST 50: a large body in both directions
--- config
    location = /t {
        client_body_buffer_size 1m;
        content_by_lua_block { ngx.req.read_body() ngx.print(ngx.req.get_body_data()) }
    }
--- request eval
"POST /t\n" . "x" x 300000
--- response_body eval
"x" x 300000
--- log_level: info



=== TEST 51: LAST, a block that is not reached otherwise would fail
--- config
    location = /t { return 200 "last\n"; }
--- request
GET /t
--- response_body
last
--- LAST



=== TEST 52: after LAST
--- config
    nhfc_no_such_directive on;
--- request
GET /t
