# The runner's sections on logs, time, the scripted TCP server and the life of nginx, on plain nginx.
use Test::Nginx::Socket 'no_plan';
use NhfcTest;

no_long_string();
run_tests();

__DATA__

=== TEST 1: error_log lines, regexes and several patterns
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



=== TEST 2: error_log in several lines
--- config
    location = /t { content_by_lua_block { ngx.log(ngx.WARN, "one") ngx.log(ngx.WARN, "two") ngx.say("ok") } }
--- request
GET /t
--- error_log
one
two



=== TEST 3: the log after the response, and wait
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



=== TEST 4: each of several requests has a log of its own
--- config
    location = /t { content_by_lua_block { ngx.log(ngx.WARN, "asked for ", ngx.var.arg_a) ngx.say("ok") } }
--- request eval
["GET /t?a=1", "GET /t?a=2"]
--- response_body eval
["ok\n", "ok\n"]
--- error_log
asked for



=== TEST 5: severe lines that the block expects
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



=== TEST 6: severe lines that the block expects leave the default of no_error_log
--- config
    location = /t { content_by_lua_block { ngx.log(ngx.CRIT, "on purpose") ngx.say("ok") } }
--- request
GET /t
--- error_log
[crit]



=== TEST 7: log_level
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



=== TEST 8: grep_error_log
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



=== TEST 9: grep_error_log with a string that is not there
--- config
    location = /t { return 200 ok; }
--- request
GET /t
--- grep_error_log: not (logged)
--- grep_error_log_out



=== TEST 10: abort turns the timeout into a way to end the request
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



=== TEST 11: a timeout longer than the response takes
--- config
    location = /t { content_by_lua_block { ngx.sleep(0.3) ngx.say("slow") } }
--- request
GET /t
--- timeout: 2s
--- response_body
slow



=== TEST 12: shutdown of the client's sending side
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



=== TEST 13: tcp_listen, tcp_reply, tcp_query
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



=== TEST 14: tcp_reply from code, after a delay, in pieces
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



=== TEST 15: tcp_no_close keeps the connection
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



=== TEST 16: tcp_shutdown of the sending side
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



=== TEST 17: the server of tcp_listen serves one connection
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



=== TEST 18: tcp_listen on a unix socket
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



=== TEST 19: must_die
--- config
    location = /t { return a b c; }
--- request
GET /t
--- must_die
--- error_log
[emerg]
invalid number of arguments in "return" directive
--- no_error_log
[alert]



=== TEST 20: must_die with an exit code
--- config
    nhfc_no_such_directive on;
--- must_die: 1
--- error_log
[emerg]
unknown directive



=== TEST 21: skip_nginx skips
--- config
    nhfc_no_such_directive on;
--- request
GET /t
--- skip_nginx
2: >= 0.1.0



=== TEST 22: skip_nginx runs
--- config
    location = /t { return 200 "ran\n"; }
--- request
GET /t
--- response_body
ran
--- skip_nginx
2: < 0.1.0



=== TEST 23: skip_eval
--- config
    nhfc_no_such_directive on;
--- request
GET /t
--- skip_eval: 2: 1 == 1



=== TEST 24: skip_nginx2
--- config
    nhfc_no_such_directive on;
--- request
GET /t
--- skip_nginx2
2: > 0.1.0 and < 99.0.0



=== TEST 25: SKIP
--- config
    nhfc_no_such_directive on;
--- request
GET /t
--- SKIP



=== TEST 26: lines that are logged while nginx stops
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



=== TEST 27: tcp_query_auto_timeout ends a query by silence
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



=== TEST 28: a large body in both directions
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



=== TEST 29: LAST, a block that is not reached otherwise would fail
--- config
    location = /t { return 200 "last\n"; }
--- request
GET /t
--- response_body
last
--- LAST



=== TEST 30: after LAST
--- config
    nhfc_no_such_directive on;
--- request
GET /t
