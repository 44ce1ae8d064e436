# Names and the addresses behind them, with nginx's resolver and a name server of the test's own.
use Test::Nginx::Socket 'no_plan';
use NhfcTest;
use NhfcUpstream qw(deaf);
use NhfcDns;

no_long_string();
run_tests();

__DATA__

=== TEST 1: case 76, names through the resolver in force at the location; Host keeps the name
--- http_config
    server {
        listen [::1]:$TEST_NGINX_RAND_PORT_1;
        location / {
            content_by_lua_block { ngx.print("six ", ngx.var.http_host) }
        }
    }
--- config
    location = /t {
        resolver 127.0.0.1:$TEST_NGINX_DNS_PORT;
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            for _, host in ipairs({ "a.test", "A.Test", "a.test.", "cname.test", "six.test", "both.test", "a.test" }) do
                local res = assert(client.request_uri({ host = host, port = $TEST_NGINX_RAND_PORT_1, keepalive = {} }))
                ngx.say((res.body:gsub("\r\n", "|"):gsub(":%d+", "")))
            end
            local httpc = client.new()
            assert(httpc:connect("a.test", $TEST_NGINX_RAND_PORT_1))
            ngx.say(httpc:get_reused_times() > 0, " ", httpc:request({ path = "/connection" }).status)
        }
    }
--- response_body
GET / HTTP/1.1|Host: a.test|Connection: keep-alive||
GET / HTTP/1.1|Host: a.test|Connection: keep-alive||
GET / HTTP/1.1|Host: a.test.|Connection: keep-alive||
GET / HTTP/1.1|Host: cname.test|Connection: keep-alive||
six six.test
six both.test
GET / HTTP/1.1|Host: a.test|Connection: keep-alive||
true 200



=== TEST 2: cases 73 and 76, names without an address, and a name server that is of no use
--- config
    location = /t {
        resolver 127.0.0.1:$TEST_NGINX_DNS_PORT;
        resolver_timeout 300ms;
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local function ask(host, timeout)
                ngx.say(host, ": ", client.request_uri({
                    host = host, port = $TEST_NGINX_RAND_PORT_1, connect_timeout = timeout,
                }))
            end
            for _, host in ipairs({ "nx.test", "empty.test", "fail.test", "lying.test", "unknown.test" }) do
                ask(host)
            end
            ask("silent.test", 5000)
            ask("silent.test", 100)
            ask("slow.test", 100)
            local res, err = client.request_uri({ host = "silent.test", deadline = 100 })
            ngx.say(res, " ", err)
        }
    }
--- timeout: 10
--- response_body
nx.test: nilhost could not be resolved (3: Host not found)
empty.test: nilhost could not be resolved (3: Host not found)
fail.test: nilhost could not be resolved
lying.test: nilhost could not be resolved (110: Operation timed out)
unknown.test: nilhost could not be resolved (3: Host not found)
silent.test: nilhost could not be resolved (110: Operation timed out)
silent.test: niltimeout
slow.test: niltimeout
nil timeout



=== TEST 3: case 76, without a resolver: the hosts file, the name servers of the system, search domains
--- main_config
--- http_config
    nhfc_system_resolver ../html/resolv.conf $TEST_NGINX_HTML_DIR/hosts;
--- user_files eval
">>> resolv.conf
nameserver fe80::1%eth0
nameserver [127.0.0.1]:$ENV{TEST_NGINX_DNS_PORT}
search nowhere.test test
>>> hosts
127.0.0.1 here.example there.example
::1 here.example
"
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            for _, host in ipairs({ "There.Example", "here.example.", "a.test", "a", "nx", "nx.example", "localhost" }) do
                local res, err = client.request_uri({
                    host = host, port = $TEST_NGINX_RAND_PORT_1, path = "/connection", connect_timeout = 3000,
                })
                ngx.say(host, ": ", res and res.status, " ", err)
            end
        }
    }
--- response_body
There.Example: 200 nil
here.example.: 200 nil
a.test: 200 nil
a: 200 nil
nx: nil host could not be resolved (3: Host not found)
nx.example: nil host could not be resolved (3: Host not found)
localhost: 200 nil
--- error_log
name server fe80::1%eth0 cannot be used, skipped



=== TEST 4: case 76, without a resolver and with the system's turned off: addresses and localhost, and a clear error
--- http_config
    nhfc_system_resolver off;
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            for _, host in ipairs({ "127.0.0.1", "localhost", "LOCALHOST.", "a.test" }) do
                local res, err = client.request_uri({ host = host, port = $TEST_NGINX_RAND_PORT_1, path = "/connection" })
                ngx.say(res and res.status, " ", err)
            end
        }
    }
--- response_body
200 nil
200 nil
200 nil
nil no resolver defined



=== TEST 5: system files that are not there: a warning each, and only names fail
--- http_config
    nhfc_system_resolver $TEST_NGINX_HTML_DIR/none $TEST_NGINX_HTML_DIR/nothing;
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            ngx.say(client.request_uri({ host = "a.test", port = $TEST_NGINX_RAND_PORT_1 }))
            ngx.say(client.request_uri({ host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/connection" }).body)
        }
    }
--- response_body
nilno resolver defined
1:1
--- error_log
/none cannot be read
/nothing cannot be read



=== TEST 6: case 74, an address that does not answer delays by a quarter of a second, one that cannot be reached not at all
--- http_config
    server {
        listen 127.0.0.2:$TEST_NGINX_DEAF_PORT;
        location / { return 200 "live"; }
    }
--- config
    location = /t {
        resolver 127.0.0.1:$TEST_NGINX_DNS_PORT;
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            for i = 1, 6 do
                ngx.update_time()
                local start = ngx.now()
                local res, err = client.request_uri({ host = "deadlive.test", port = $TEST_NGINX_DEAF_PORT, connect_timeout = 5000 })
                ngx.update_time()
                ngx.say(res and res.body, " ", err, " ", ngx.now() - start < 3)
            end
            ngx.say(client.request_uri({ host = "deadsix.test", port = $TEST_NGINX_RAND_PORT_1, path = "/connection" }).status)
        }
    }
--- timeout: 20
--- response_body
live nil true
live nil true
live nil true
live nil true
live nil true
live nil true
200



=== TEST 7: case 75, a function that looks names up
--- http_config
    nhfc_system_resolver off;
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local seen = {}
            local port = $TEST_NGINX_RAND_PORT_1
            local value = setmetatable({}, { __tostring = function() error("in __tostring") end })
            assert(client.set_resolver(function(name, ...)
                seen[#seen + 1] = name .. select("#", ...)
                ngx.sleep(0.01)
                if name == "throws.test" then
                    error("oh no", 0)
                elseif name == "worse.test" then
                    error(value)
                end
                return unpack(({
                    ["one.test"] = { "127.0.0.1" }, ["list.test"] = { { "127.0.0.3", "127.0.0.1" } },
                    ["none.test"] = { nil, "unknown host" }, ["empty.test"] = { {} }, ["name.test"] = { "one.test" },
                    ["number.test"] = { 5 }, ["mixed.test"] = { { "127.0.0.1", 1 } }, ["nothing.test"] = {},
                    ["value.test"] = { nil, value },
                })[name:lower()])
            end))
            for _, how in ipairs({ "uri", "object" }) do
                ngx.say(how)
                for _, host in ipairs({
                    "one.test", "One.Test", "list.test", "none.test", "empty.test", "name.test", "number.test", "mixed.test",
                    "nothing.test", "throws.test", "worse.test", "value.test", "127.0.0.1", "localhost",
                }) do
                    local res, err
                    if how == "uri" then
                        res, err = client.request_uri({ host = host, port = port })
                    else
                        local httpc = client.new()
                        res, err = httpc:connect(host, port, { pool = "x" })
                        res = res and httpc:request({})
                    end
                    ngx.say(host, ": ", res and res:read_body():match("Host: ([^\r:]+)"), " ", err)
                end
            end
            ngx.say(table.concat(seen, " "))
            ngx.say(client.set_resolver("x"))
            ngx.say(client.set_resolver(nil))
            ngx.say(client.request_uri({ host = "one.test", port = port }))
        }
    }
--- response_body eval
my $each = <<'OUT';
one.test: one.test nil
One.Test: one.test nil
list.test: list.test nil
none.test: nil unknown host
empty.test: nil host could not be resolved (3: Host not found)
name.test: nil the resolver function gave something that is no address
number.test: nil the resolver function must give an address or an array of these, not number
mixed.test: nil the resolver function must give addresses as strings, not number
nothing.test: nil the resolver function must give an address or an array of these, not nil
throws.test: nil the resolver function failed: oh no
worse.test: nil the resolver function failed: table
value.test: nil table
127.0.0.1: 127.0.0.1 nil
localhost: localhost nil
OUT
my $seen = "one.test0 one.test0 list.test0 none.test0 empty.test0 name.test0 number.test0 mixed.test0 nothing.test0 throws.test0 worse.test0 value.test0";
"uri\n${each}object\n$each$seen $seen\n" . <<'OUT';
nilthe resolver must be a function, not string
true
nilno resolver defined
OUT



=== TEST 8: a function that looks names up and takes too long, or whose request ends meanwhile
--- http_config
    nhfc_system_resolver off;
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local port = $TEST_NGINX_RAND_PORT_1
            client.set_resolver(function(name)
                ngx.sleep(0.2)
                return "127.0.0.1"
            end)
            ngx.say(client.request_uri({ host = "slow.test", port = port, connect_timeout = 50 }))
            ngx.say(client.request_uri({ host = "slow.test", port = port, deadline = 50 }))
            local httpc = client.new()
            local thread = ngx.thread.spawn(function() return httpc:connect("slow.test", port) end)
            ngx.sleep(0.01)
            ngx.say(httpc:connect("slow.test", port))
            ngx.say(httpc:close())
            ngx.say(select(3, ngx.thread.wait(thread)))
            ngx.thread.spawn(function() httpc:connect("slow.test", port) end)
            ngx.sleep(0.01)
            client.set_resolver(nil)
            ngx.exit(200)
        }
    }
--- response_body
niltimeout
niltimeout
nilsocket busy
1
closed
--- wait: 0.3



=== TEST 9: case 42, unix domain sockets: Host, the pool, paths that are not there
--- http_config
    server {
        listen unix:$TEST_NGINX_HTML_DIR/a.sock;
        location / {
            content_by_lua_block { ngx.print(ngx.var.http_host, " ", ngx.var.connection_requests) }
        }
    }
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local path = "unix:$TEST_NGINX_HTML_DIR/a.sock"
            for _, headers in ipairs({ {}, { Host = "given" } }) do
                ngx.say(assert(client.request_uri({ host = path, headers = headers, keepalive = {} })).body)
            end
            local httpc = client.new()
            for _, args in ipairs({ { path }, { { host = path } }, { { scheme = "http", host = path, port = 8080 } } }) do
                assert(httpc:connect(unpack(args)))
                ngx.say(assert(httpc:request({ path = "/" })):read_body(), " ", httpc:set_keepalive())
            end
            for _, bad in ipairs({ "unix:", "unix:relative.sock", "unix:/" .. ("x"):rep(107), "unix:/a\0b" }) do
                ngx.say(client.request_uri({ host = bad }))
            end
            ngx.say(client.request_uri({ host = "unix:$TEST_NGINX_HTML_DIR/A.sock" }))
        }
    }
--- response_body
localhost 1
given 2
localhost 3 1
localhost 4 1
localhost 5 1
nilinvalid host
nilinvalid host
nilinvalid host
nilinvalid host
nilno such file or directory
--- error_log
[crit]



=== TEST 10: case 74, where every address fails the error lists those that were tried
--- config
    location = /t {
        resolver 127.0.0.1:$TEST_NGINX_DNS_PORT;
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local port = $TEST_NGINX_RAND_PORT_3
            for _, host in ipairs({ "127.0.0.1", "localhost", "both.test", "a.test" }) do
                local res, err = client.request_uri({ host = host, port = port })
                ngx.say(res, " ", (err:gsub(port, "P")))
            end
            local httpc = client.new()
            local res, err = httpc:connect("both.test", port)
            ngx.say(res, " ", (err:gsub(port, "P")), " ", httpc:set_keepalive())
        }
    }
--- response_body
nil connection refused
nil connection refused (tried 127.0.0.1:P, [::1]:P)
nil connection refused (tried [::1]:P, 127.0.0.1:P)
nil connection refused
nil connection refused (tried [::1]:P, 127.0.0.1:P) nilclosed



=== TEST 11: a request that is sent again on a fresh connection: its name is looked up as that of its own call says
--- http_config
    nhfc_system_resolver off;
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local asked = 0
            client.set_resolver(function()
                asked = asked + 1
                return "127.0.0.1"
            end)
            -- A kept connection that its peer closes 60 ms later, when a piece of the next request is on its way.
            local port = $TEST_NGINX_RAND_PORT_1
            assert(client.request_uri({
                host = "a.test", port = port, path = "/raw", keepalive = { pool = "x" },
                query = { pause = 60, piece = { "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "" } },
            }))
            local httpc = client.new()
            assert(httpc:connect("a.test", port, { pool = "x" }))
            ngx.print(httpc:get_reused_times(), " ")
            -- Meanwhile another request calls.
            ngx.timer.at(0, function()
                assert(client.request_uri({ host = "127.0.0.1", port = port, path = "/connection" }))
            end)
            ngx.sleep(0.01)
            local i = 0
            local res, err = httpc:request({
                method = "PUT", headers = { ["Content-Length"] = 4 },
                body = function()
                    i = i + 1
                    if i == 2 then
                        ngx.sleep(0.15)
                    end
                    return i <= 2 and "a" .. i or nil
                end,
            })
            client.set_resolver(nil)
            ngx.say(res and res:read_body():match("\r\n\r\n(.*)"), " ", err, " ", asked)
        }
    }
--- response_body
1 a1a2 nil 2
