# The Lua files without the nginx module: it is taken out of what the runners load, before they look.
BEGIN { $ENV{TEST_NGINX_LOAD_MODULES} =~ s/\S*ngx_http_ffi_client_module\.so// if $ENV{TEST_NGINX_LOAD_MODULES} }

use Test::Nginx::Socket 'no_plan';
use NhfcTest;

no_long_string();
run_tests();

__DATA__

=== TEST 1: require works; new and request_uri say that the module is not loaded, and what to do
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            for _ = 1, 2 do
                for _, call in ipairs({
                    { client.new }, { client.new, client }, { client.request_uri, { host = "127.0.0.1", port = 1 } },
                    { client.request_uri, client, { host = "127.0.0.1", port = 1 } }, { client.request_uri, {}, "http://127.0.0.1:1/" },
                }) do
                    local ok, res, err = pcall(unpack(call))
                    ngx.say(ok, " ", res, " ", err)
                end
            end
        }
    }
--- request
GET /t
--- response_body_like eval
qr/^(true nil .*ngx_http_ffi_client_module is not loaded.*load_module .*ngx_http_ffi_client_module\.so;.*\n){10}$/



=== TEST 2: what needs no module works
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            ngx.say(table.concat(client.parse_uri(nil, "http://a.test:81/p?q"), " "))
            ngx.say(type(client._VERSION))
        }
    }
--- request
GET /t
--- response_body
http a.test 81 /p?q
string



=== TEST 3: the same in init, in init_worker, in a timer and in the log phase
--- http_config
    init_by_lua_block {
        client = require "resty.ngx_http_ffi_client"
        said = {}
        function note(name)
            local res, err = client.new()
            said[#said + 1] = name .. " " .. tostring(res) .. " " .. tostring(err):match("ngx_http_ffi_client_module is not loaded")
            res, err = client.request_uri({ host = "127.0.0.1", port = 1 })
            said[#said + 1] = name .. " " .. tostring(res) .. " " .. tostring(err):match("ngx_http_ffi_client_module is not loaded")
        end
        note("init")
    }
    init_worker_by_lua_block { note("init_worker") }
--- config
    location = /t {
        content_by_lua_block {
            assert(ngx.timer.at(0, function() note("timer") end))
            ngx.sleep(0.02)
            ngx.say(table.concat(said, "\n"))
        }
    }
--- request
GET /t
--- response_body
init nil ngx_http_ffi_client_module is not loaded
init nil ngx_http_ffi_client_module is not loaded
init_worker nil ngx_http_ffi_client_module is not loaded
init_worker nil ngx_http_ffi_client_module is not loaded
timer nil ngx_http_ffi_client_module is not loaded
timer nil ngx_http_ffi_client_module is not loaded



=== TEST 4: the directives are unknown
--- http_config
    nhfc_pool_size 5;
--- config
    location = /t { return 200; }
--- must_die
--- suppress_stderr
--- error_log
[emerg]
unknown directive "nhfc_pool_size"
--- no_error_log
[alert]
[crit]
exited on signal
