# The runner's file-wide settings: a master with two workers, repeated requests, blocks in their order.
use Test::Nginx::Socket;
use NhfcTest;

master_on();
workers(2);
repeat_each(2);
no_shuffle();
no_root_location();
log_level('info');
timeout(2);

my ($cleaned, $checked) = (0, 0);
add_test_cleanup_handler(sub { $cleaned++ });
# OpenResty's runner calls these handlers again when perl exits.
add_cleanup_handler(sub { is($cleaned, 6, "a cleanup for each block") if !$checked++ });

plan tests => repeat_each() * 36 + 1;

run_tests();

__DATA__

=== TEST 1: workers under a master, and a location / of the test's own
--- config
    location / {
        content_by_lua_block {
            local ffi = require "ffi"
            ffi.cdef "int getppid(void);"
            local master = io.open("/proc/" .. ffi.C.getppid() .. "/cmdline"):read("*a")
            ngx.say(ngx.worker.count(), " ", (master:find("nginx: master", 1, true)))
        }
    }
--- request
GET /any
--- response_body
2 1



=== TEST 2: a block without config is served by the nginx before it
--- request
GET /other
--- response_body
2 1



=== TEST 3: per repetition: output of grep_error_log
--- http_config
    lua_shared_dict count 1m;
--- config
    location = /t {
        content_by_lua_block {
            ngx.log(ngx.WARN, "call ", ngx.shared.count:incr("calls", 1, 0), ";")
            ngx.say("ok")
        }
    }
--- request
GET /t
--- grep_error_log eval: qr/call \d/
--- grep_error_log_out eval
["call 1\n", "call 2\n"]
--- response_body
ok



=== TEST 4: a worker that dies is in the log
--- config
    location = /t {
        content_by_lua_block {
            local ffi = require "ffi"
            ffi.cdef "int kill(int pid, int sig);"
            ffi.C.kill(ngx.worker.pid(), 9)
        }
    }
--- request
GET /t
--- ignore_response
--- wait: 0.1
--- error_log
exited on signal 9
[alert]
--- no_error_log
[crit]
[emerg]



=== TEST 5: the tcp server is there for each repetition
--- config
    location = /t {
        content_by_lua_block {
            local socket = ngx.socket.tcp()
            assert(socket:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
            socket:send("query")
            ngx.say(socket:receive("*a"))
        }
    }
--- tcp_listen: $TEST_NGINX_RAND_PORT_1
--- tcp_query: query
--- tcp_reply: reply
--- request
GET /t
--- response_body
reply



=== TEST 6: nginx quits gracefully
--- config
    location = /t { return 200 "ok\n"; }
--- request
GET /t
--- response_body
ok
