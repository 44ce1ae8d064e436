# What could change the request is refused before anything is on the wire: the one connection that the
# server of these blocks serves carries the good request that comes last, and nothing else.
use Test::Nginx::Socket 'no_plan';
use NhfcTest;
use NhfcUpstream;

no_long_string();

my $tries = <<'LUA';
            local client = require "resty.ngx_http_ffi_client"
            local bad = {}
            for i = 0, 127 do
                bad[i] = string.char(i)
            end
            local function good()
                local res, err = client.request_uri({
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_3, path = "/good", headers = { Host = "h" },
                })
                ngx.say(res and res.status, " ", err)
            end
            local refused = {}
            local function try(name, value, shown)
                local options = { host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_3, method = "POST", body = "b" }
                options[name] = value
                local ok, res, err = pcall(client.request_uri, options)
                local text = tostring(ok) .. " " .. tostring(res) .. " " .. tostring(err)
                if not refused[text] then
                    refused[text] = 0
                    refused[#refused + 1] = text
                end
                refused[text] = refused[text] + 1
            end
            local function report()
                for _, text in ipairs(refused) do
                    ngx.say(refused[text], " ", text)
                end
                good()
            end
LUA

add_block_preprocessor(sub {
    my $block = shift;
    my $code = $block->lua;
    $block->set_value(config => "    location = /t {\n        content_by_lua_block {\n$tries$code\n        }\n    }\n");
    $block->set_value(tcp_listen => '$TEST_NGINX_RAND_PORT_3');
    $block->set_value(tcp_query => "GET /good HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    $block->set_value(tcp_reply => "HTTP/1.1 204 No Content\r\n\r\n");
});
{ no warnings 'once'; $Test::Nginx::Socket::Sections{lua} = 1; }

run_tests();

__DATA__

=== TEST 1: case 35, methods that are no token
--- lua
            for i = 0, 127 do
                if not bad[i]:find("[%w!#$%%&'*+%-.^_`|~]") then
                    try("method", bad[i])
                    try("method", "GET" .. bad[i])
                    try("method", bad[i] .. "GET")
                end
            end
            for _, method in ipairs({ "", "GET /evil", "GET / HTTP/1.1\r\nX: y\r\n\r\nGET", "G\xc3\xbc", "GET\0" }) do
                try("method", method)
            end
            report()
--- response_body
158 true nil invalid method
204 nil



=== TEST 2: case 35, header names that are no token
--- lua
            for i = 0, 127 do
                if not bad[i]:find("[%w!#$%%&'*+%-.^_`|~]") then
                    try("headers", { [bad[i]] = "v" })
                    try("headers", { ["X" .. bad[i]] = "v" })
                    try("headers", { [bad[i] .. "X"] = "v" })
                end
            end
            for _, name in ipairs({ "", "X: injected", "X\r\nY", "X ", " X", "Host ", "X\xc3\xbc", "Content-Length:" }) do
                try("headers", { [name] = "v" })
                try("headers", { [name] = { "v" } })
            end
            report()
--- response_body
169 true nil invalid header name
204 nil



=== TEST 3: case 35, header values with control characters
--- lua
            for i = 0, 127 do
                if i < 32 and i ~= 9 or i == 127 then
                    for _, name in ipairs({ "X-A", "Host", "Connection", "Transfer-Encoding", "User-Agent" }) do
                        try("headers", { [name] = bad[i] })
                        try("headers", { [name] = "v" .. bad[i] })
                        try("headers", { [name] = { "v" .. bad[i] .. "v" } })
                    end
                end
            end
            try("headers", { ["X-A"] = "1\r\nX-B: 2" })
            try("headers", { ["X-A"] = { "1", "2\r\n\r\nGET / HTTP/1.1" } })
            report()
--- response_body
482 true nil invalid header value
204 nil



=== TEST 4: cases 35 and 36, paths with blanks, control characters or a fragment, or that are no path
--- lua
            for i = 0, 127 do
                if i <= 32 or i == 127 or bad[i] == "#" then
                    try("path", bad[i])
                    try("path", "/" .. bad[i])
                    try("path", "/a" .. bad[i] .. "b")
                end
            end
            for _, path in ipairs({ "a", "a/b", "?a", "*a", "ftp://a/", "/ HTTP/1.1\r\nX: y", "/a b", "\\", ".." }) do
                try("path", path)
            end
            report()
--- response_body
114 true nil invalid path
204 nil



=== TEST 5: cases 35 and 36, queries with blanks, control characters or a fragment
--- lua
            for i = 0, 127 do
                if i <= 32 or i == 127 or bad[i] == "#" then
                    try("query", bad[i])
                    try("query", "?a" .. bad[i] .. "b")
                end
            end
            try("query", "a=1 HTTP/1.1\r\nX: y\r\n\r\n")
            report()
--- response_body
71 true nil invalid query
204 nil



=== TEST 6: case 35, hosts with blanks, control characters or delimiters
--- lua
            for i = 0, 127 do
                if i <= 32 or i == 127 or bad[i]:find("[#/?@\\%[%]]") then
                    try("host", bad[i])
                    try("host", "127.0.0.1" .. bad[i])
                    try("host", bad[i] .. "127.0.0.1")
                    try("host", "127.0.0.1" .. bad[i] .. "a")
                end
            end
            for _, host in ipairs({ "", "[]", "[::1", "::1]", "a@127.0.0.1", "127.0.0.1\r\nX: y", "127.0.0.1/..", "[127.0.0.1]" }) do
                try("host", host)
            end
            report()
--- response_body
172 true nil invalid host
204 nil
