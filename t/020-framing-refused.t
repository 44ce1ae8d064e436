# Responses that are wrong: an error that says which part, no value in it, at once, and the connection dropped.
use Test::Nginx::Socket 'no_plan';
use NhfcTest;
use NhfcUpstream;

no_long_string();
worker_connections(512);

# try(reply, ...) sends a request with keepalive, and shows the error; the peer holds the connection until the client
# closes it. After all, wait() shows that each was closed and a new request gets a connection of its own.
my $helpers = <<'LUA';
    init_by_lua_block {
        local count = 0
        function try(reply, show)
            local client = require "resty.ngx_http_ffi_client"
            local res, err = client.request_uri({
                host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/raw", keepalive = {}, read_timeout = 1000,
                query = { piece = reply, hold = 1 },
            })
            count = count + 1
            ngx.say(res and "taken: " .. res.body or tostring(res), " ", err)
        end
        function finish()
            local client = require "resty.ngx_http_ffi_client"
            ngx.sleep(0.02)
            ngx.log(ngx.WARN, "tried ", count, ";")
            ngx.say(assert(client.request_uri({
                host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/connection", keepalive = {},
            })).body)
        end
    }
LUA

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value(http_config => $helpers . ($block->http_config // ''));
    my ($tries) = $block->name =~ /, (\d+) tries$/;
    if ($tries) {
        $block->set_value(grep_error_log => qr/(?<=upstream: )client (?:closed|connection reset)|tried \d+;/);
        $block->set_value(grep_error_log_out => qr/^(client (closed|connection reset)\n){$tries}tried $tries;\n$/);
    }
});

run_tests();

__DATA__

=== TEST 1: case 16, garbage instead of a status line, 17 tries
--- config
    location = /t {
        content_by_lua_block {
            local tail = "\r\nContent-Length: 2\r\n\r\nok"
            for _, line in ipairs({
                "garbage", "SSH-2.0-x", "HTP/1.1 200 OK", "http/1.1 200 OK", "HTTP/1.1  200 OK", "HTTP /1.1 200 OK",
                "HTTP/1.1 20 OK", "HTTP/1.1 2000 OK", "HTTP/1.1 2x0 OK", "HTTP/1.1 -20 OK", "HTTP/1.1\t200 OK", "HTTP/1.1200 OK",
                "HTTP/11 200 OK", "GET / HTTP/1.1", "\22\3\1\2\0\1", "<html>", " HTTP/1.1 200 OK",
            }) do
                try(line .. tail)
            end
            finish()
        }
    }
--- response_body eval
qr/^(nil invalid response: (status line|HTTP version)\n){17}1:1\n$/



=== TEST 2: versions other than 1.0 and 1.1, 5 tries
--- config
    location = /t {
        content_by_lua_block {
            for _, version in ipairs({ "2.0", "0.9", "1.2", "3.0", "9.9" }) do
                try("HTTP/" .. version .. " 200 OK\r\nContent-Length: 2\r\n\r\nok")
            end
            finish()
        }
    }
--- response_body eval
"nil invalid response: HTTP version\n" x 5 . "1:1\n"



=== TEST 3: case 2, Content-Length that is no plain number, 16 tries
--- config
    location = /t {
        content_by_lua_block {
            for _, length in ipairs({
                "0x10", "1e1", "+5", "-1", "5.0", "5 5", "five", "5,", "5;", "", "9223372036854775808", "18446744073709551616",
                "99999999999999999999999999999", "0x", "5\t5", "'5'",
            }) do
                try("HTTP/1.1 200 OK\r\nContent-Length: " .. length .. "\r\n\r\nhello")
            end
            finish()
        }
    }
--- response_body eval
"nil invalid response: Content-Length\n" x 16 . "1:1\n"



=== TEST 4: cases 2 and 3, Content-Length that is there twice, or beside Transfer-Encoding, 7 tries
--- config
    location = /t {
        content_by_lua_block {
            for _, lines in ipairs({
                "Content-Length: 5\r\nContent-Length: 6", "Content-Length: 5, 6", "content-length: 6\r\nContent-Length: 5",
                "Content-Length: 5\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 5",
                "Transfer-Encoding: chunked\r\nX-A: b\r\nCONTENT-LENGTH: 15", "Content-Length: 5\r\nTransfer-Encoding: gzip",
            }) do
                try("HTTP/1.1 200 OK\r\n" .. lines .. "\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
            end
            finish()
        }
    }
--- response_body eval
qr/^(nil invalid response: (Content-Length|Transfer-Encoding)\n){7}1:1\n$/



=== TEST 5: case 4, chunked twice, 3 tries
--- config
    location = /t {
        content_by_lua_block {
            for _, lines in ipairs({ "chunked, chunked", "chunked\r\nTransfer-Encoding: chunked", "chunked, gzip, chunked" }) do
                try("HTTP/1.1 200 OK\r\nTransfer-Encoding: " .. lines .. "\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
            end
            finish()
        }
    }
--- response_body eval
"nil invalid response: Transfer-Encoding\n" x 3 . "1:1\n"



=== TEST 6: cases 2 and 7, chunk sizes that are no plain hexadecimal number within 63 bits, or have blanks behind them, 24 tries
--- config
    location = /t {
        content_by_lua_block {
            for _, size in ipairs({
                "5 ", "5\t", " 5", "0x5", "+5", "-5", "5g", "", ";a=b", "5,", "five", "5.0", "_5", "5_0", "10000000000000005",
                "fffffffffffffffff", "5 ;a=b", "\"5\"", "8000000000000000", "ffffffffffffffff", "08000000000000000;a",
            }) do
                try("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" .. size .. "\r\nhello\r\n0\r\n\r\n")
            end
            try("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloX\r\n0\r\n\r\n")
            try("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello5\r\nhello\r\n0\r\n\r\n")
            try("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n\r\n0\r\n\r\n")
            finish()
        }
    }
--- response_body eval
"nil invalid response: chunk size\n" x 24 . "1:1\n"



=== TEST 7: case 8, line ends that are no CR LF, 11 tries
--- config
    location = /t {
        content_by_lua_block {
            try("HTTP/1.1 200 OK\nContent-Length: 2\r\n\r\nok")
            try("HTTP/1.1 200 OK\rContent-Length: 2\r\n\r\nok")
            try("HTTP/1.1 200 OK\r\r\nContent-Length: 2\r\n\r\nok")
            try("HTTP/1.1 200 OK\r\nX-A: b\nContent-Length: 2\r\n\r\nok")
            try("HTTP/1.1 200 OK\r\nX-A: b\rContent-Length: 2\r\n\r\nok")
            try("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\nok")
            try("HTTP/1.1 200 OK\r\nContent-Length: 2\n\r\nok")
            try("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\nok\r\n0\r\n\r\n")
            try("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\n0\r\n\r\n")
            try("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a\nb\r\nok\r\n0\r\n\r\n")
            try("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nT: t\n\r\n")
            finish()
        }
    }
--- response_body eval
qr/^(nil invalid response: status line\n){3}(nil invalid response: header (name|value)\n){4}(nil invalid response: chunk size\n){3}nil invalid response: trailer\n1:1\n$/



=== TEST 8: cases 10 and 11, control characters and folds in header and trailer values, 10 tries
--- config
    location = /t {
        content_by_lua_block {
            for _, value in ipairs({ "a\0b", "a\1", "\127", "a\27[0m", "\8", "a\r\n b", "a\r\n\tb", "\r\n b" }) do
                try("HTTP/1.1 200 OK\r\nX-A: " .. value .. "\r\nContent-Length: 2\r\n\r\nok")
            end
            try("HTTP/1.1 200 OK\r\nContent-Length:\r\n 2\r\n\r\nok")
            try("HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n")
            finish()
        }
    }
--- response_body eval
qr/^(nil invalid response: header value\n){7}(nil invalid response: header (name|value)\n){3}1:1\n$/



=== TEST 9: case 10, the same in trailers, 7 tries
--- config
    location = /t {
        content_by_lua_block {
            for _, trailer in ipairs({ "X-A: a\0b", "X-A: \1", "X-A: a\r\n b", "X A: b", "X-A : b", ": b", "no colon" }) do
                try("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n" .. trailer .. "\r\n\r\n")
            end
            finish()
        }
    }
--- response_body eval
"nil invalid response: trailer\n" x 7 . "1:1\n"



=== TEST 10: case 12, header names that are no token, or have a blank before the colon, 13 tries
--- config
    location = /t {
        content_by_lua_block {
            for _, name in ipairs({ "X-A ", "X-A\t", "X A", "X(A", "X\0A", "", "\xc3\xbc", "X/A", "\"X\"" }) do
                try("HTTP/1.1 200 OK\r\n" .. name .. ": b\r\nContent-Length: 2\r\n\r\nok")
            end
            try("HTTP/1.1 200 OK\r\nno colon at all\r\nContent-Length: 2\r\n\r\nok")
            try("HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok")
            try("HTTP/1.1 200 OK\r\nTransfer-Encoding : chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n")
            try("HTTP/1.1 200 OK\r\n folded: first\r\nContent-Length: 2\r\n\r\nok")
            finish()
        }
    }
--- response_body eval
"nil invalid response: header name\n" x 13 . "1:1\n"



=== TEST 11: control characters in the reason, 3 tries
--- config
    location = /t {
        content_by_lua_block {
            for _, reason in ipairs({ "O\0K", "\1", "O\127K" }) do
                try("HTTP/1.1 200 " .. reason .. "\r\nContent-Length: 2\r\n\r\nok")
            end
            finish()
        }
    }
--- response_body eval
"nil invalid response: status line\n" x 3 . "1:1\n"



=== TEST 12: case 14, no value of the response is in the error
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            local shown = 0
            for _, reply in ipairs({
                "secret", "HTTP/1.1 200 OK\r\nX-secret\r\n\r\n", "HTTP/1.1 200 OK\r\nX-A: secret\0\r\n\r\n",
                "HTTP/1.1 200 OK\r\nContent-Length: secret\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nsecret\r\n",
            }) do
                local res, err = client.request_uri({
                    host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_1, path = "/raw", query = { piece = reply .. "\r\n", hold = 1 },
                })
                shown = shown + (not res and err:find("^invalid response: %a") and not err:find("secret") and 1 or 0)
            end
            ngx.say(shown)
        }
    }
--- response_body
5



=== TEST 13: case 6, chunk extensions without end
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            ngx.say(client.request_uri({ host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_3 }))
        }
    }
--- tcp_listen: $TEST_NGINX_RAND_PORT_3
--- tcp_reply eval
"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" . ("1;" . ("x" x 100) . "\r\na\r\n") x 200 . "0\r\n\r\n"
--- response_body
nilchunk extensions too large



=== TEST 14: trailers without end
--- config
    location = /t {
        content_by_lua_block {
            local client = require "resty.ngx_http_ffi_client"
            ngx.say(client.request_uri({ host = "127.0.0.1", port = $TEST_NGINX_RAND_PORT_3 }))
        }
    }
--- tcp_listen: $TEST_NGINX_RAND_PORT_3
--- tcp_reply eval
"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-A: " . ("x" x 20000) . "\r\n\r\n"
--- response_body
nilresponse trailers too large
