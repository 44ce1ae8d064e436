# In which phases the client works, and what it says in the others.
use Test::Nginx::Socket 'no_plan';
use NhfcTest;
use NhfcUpstream;

no_long_string();

# every(port) shows what each call of the module says where it runs.
my $helpers = <<'LUA';
    init_by_lua_block {
        local client = require "resty.ngx_http_ffi_client"
        local target = { host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/connection" }
        function every()
            local said = {}
            local function try(f, ...)
                local ok, res, err = pcall(f, ...)
                said[#said + 1] = ok and (type(res) == "table" and (res.body or type(res)) or tostring(res) .. " " .. tostring(err)) or res
            end
            local httpc, err = client.new()
            said[1] = type(httpc) .. " " .. tostring(err)
            try(httpc.set_timeouts, httpc, 1000, 1000, 1000)
            try(client.parse_uri, nil, "http://a.test/")
            try(httpc.get_reused_times, httpc)
            try(client.request_uri, target)
            try(httpc.request_uri, httpc, "http://127.0.0.1:$TEST_NGINX_RAND_PORT_1/connection")
            try(httpc.connect, httpc, target)
            try(httpc.request, httpc, target)
            return table.concat(said, "\n") .. "\n"
        end
        in_init = every()
    }
LUA

my $works = <<'TEXT';
table nil
true nil
table
nil closed
1:1
2:1
1 nil
table
TEXT

my $refused = <<'TEXT';
table nil
true nil
table
nil closed
nil API disabled in the context of PHASE
nil API disabled in the context of PHASE
nil API disabled in the context of PHASE
nil API disabled in the context of PHASE
TEXT

# "--- works" is a block whose phase lets light threads wait, "--- refused" names one that does not.
add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value(http_config => $helpers . ($block->http_config // ''));
    $block->set_value(response_body => $works) if defined $block->works;
    if (defined $block->refused) {
        my ($phase) = $block->refused =~ /(\S+)/;
        $block->set_value(response_body => $refused =~ s/PHASE/$phase/gr);
    }
});
{ no warnings 'once'; @Test::Nginx::Socket::Sections{qw(works refused)} = (1, 1); }

run_tests();

__DATA__

=== TEST 1: content
--- config
    location = /t { content_by_lua_block { ngx.print(every()) } }
--- works



=== TEST 2: rewrite
--- config
    location = /t {
        rewrite_by_lua_block { ngx.ctx.said = every() }
        content_by_lua_block { ngx.print(ngx.ctx.said) }
    }
--- works



=== TEST 3: access
--- config
    location = /t {
        access_by_lua_block { ngx.ctx.said = every() }
        content_by_lua_block { ngx.print(ngx.ctx.said) }
    }
--- works



=== TEST 4: server_rewrite
--- config
    server_rewrite_by_lua_block { ngx.ctx.said = every() }
    location = /t { content_by_lua_block { ngx.print(ngx.ctx.said) } }
--- works



=== TEST 5: case 101, ngx.timer
--- config
    location = /t {
        content_by_lua_block {
            local said
            assert(ngx.timer.at(0, function() said = every() end))
            while not said do
                ngx.sleep(0.005)
            end
            ngx.print(said)
        }
    }
--- works



=== TEST 6: case 101, a timer that init_worker started
--- http_config
    init_worker_by_lua_block {
        assert(ngx.timer.at(0.01, function() in_timer = every() end))
    }
--- config
    location = /t {
        content_by_lua_block {
            while not in_timer do
                ngx.sleep(0.005)
            end
            ngx.print(in_timer)
        }
    }
--- works



=== TEST 7: a light thread, a coroutine and a subrequest
--- config
    location = /sub { content_by_lua_block { ngx.print(every()) } }
    location = /t {
        content_by_lua_block {
            local all = {}
            local ok, said = ngx.thread.wait(ngx.thread.spawn(every))
            all[1] = said
            all[2] = coroutine.wrap(every)()
            all[3] = ngx.location.capture("/sub").body
            for i = 1, 3 do
                ngx.say((all[i]:gsub("%d+:%d", "n")))
            end
        }
    }
--- response_body eval
"table nil\ntrue nil\ntable\nnil closed\nn\nn\n1 nil\ntable\n\n" x 3



=== TEST 8: case 101, require and new are safe in init, and the rest says that there is no request
--- config
    location = /t { content_by_lua_block { ngx.print(in_init) } }
--- response_body
table nil
true nil
table
nil closed
nil no request: API disabled in the context of init_by_lua*
nil no request: API disabled in the context of init_by_lua*
nil no request: API disabled in the context of init_by_lua*
nil no request: API disabled in the context of init_by_lua*



=== TEST 9: case 101, init_worker
--- http_config
    init_worker_by_lua_block { in_init_worker = every() }
--- config
    location = /t { content_by_lua_block { ngx.print(in_init_worker) } }
--- refused: init_worker_by_lua*



=== TEST 10: set
--- config
    location = /t {
        set_by_lua_block $said { return every() }
        return 200 $said;
    }
--- refused: set_by_lua*



=== TEST 11: case 101, header_filter
--- config
    location = /t {
        content_by_lua_block {
            ngx.send_headers()
            ngx.print(ngx.ctx.said)
        }
        header_filter_by_lua_block { ngx.ctx.said = every() }
    }
--- refused: header_filter_by_lua*



=== TEST 12: case 101, body_filter
--- config
    location = /t {
        return 200 " ";
        header_filter_by_lua_block { ngx.header.content_length = nil }
        body_filter_by_lua_block { ngx.arg[1] = every() }
    }
--- refused: body_filter_by_lua*



=== TEST 13: balancer
--- http_config
    upstream balanced {
        server 127.0.0.1:1;
        balancer_by_lua_block {
            ngx.ctx.said = every()
            require("ngx.balancer").set_current_peer("127.0.0.1", $TEST_NGINX_RAND_PORT_1)
        }
    }
--- config
    location = /t {
        proxy_pass http://balanced;
        header_filter_by_lua_block { ngx.header.content_length = nil }
        body_filter_by_lua_block { ngx.arg[1] = ngx.arg[2] and ngx.ctx.said or nil }
    }
--- refused: balancer_by_lua*



=== TEST 14: case 101, log
--- config
    location = /t {
        content_by_lua_block { ngx.say("ok") }
        log_by_lua_block {
            for line in every():gmatch("[^\n]+") do
                ngx.log(ngx.WARN, "said: ", line, ";")
            end
        }
    }
--- response_body
ok
--- grep_error_log eval: qr/said: .*?;/
--- grep_error_log_out
said: table nil;
said: true nil;
said: table;
said: nil closed;
said: nil API disabled in the context of log_by_lua*;
said: nil API disabled in the context of log_by_lua*;
said: nil API disabled in the context of log_by_lua*;
said: nil API disabled in the context of log_by_lua*;
--- no_error_log
[error]
[alert]
[crit]
[emerg]
exited on signal



=== TEST 15: set_keepalive and close work in the filters too; by the log phase the connection is closed
--- config
    location = /inner {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            for i = 1, 3 do
                local httpc = client.new()
                assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
                assert(httpc:request({ path = "/connection" })):read_body()
                ngx.ctx[i] = httpc
            end
            ngx.say("ok")
        }
        header_filter_by_lua_block {
            ngx.log(ngx.WARN, "said: ", ngx.ctx[1]:set_keepalive(), " ", ngx.ctx[2]:close(), ";")
        }
        log_by_lua_block {
            local res, err = ngx.ctx[3]:set_keepalive()
            ngx.log(ngx.WARN, "said: ", res, " ", err, ";")
        }
    }
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            ngx.print(assert(client.request_uri({
                host = "127.0.0.1", port = tonumber(ngx.var.server_port), path = "/inner",
            })).body)
            for i = 1, 2 do
                local httpc = client.new()
                assert(httpc:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1))
                ngx.say(httpc:get_reused_times())
            end
        }
    }
--- response_body
ok
1
0
--- error_log
said: 1 1;
said: nil closed;
--- no_error_log
[error]
[alert]
[crit]
[emerg]
exited on signal
