#!/usr/bin/perl
# Corners of nginx where Lua runs: the privileged agent, an internal redirect with a connection open, and finalisers
# that call us when a request's Lua state, or the process itself, comes to its end.
use strict;
use warnings;

use Test::More;

use NhfcNginx qw(eventually);
use NhfcPeer;

sub clean_end {
    my ($nginx, $what, $but) = @_;
    ok($nginx->quit, "$what: nginx quits");
    is_deeply($nginx->complaints($but), [], "$what: no complaint");
    return;
}

# The privileged agent, which OpenResty's nginx has: no listener, and everything else.
SKIP: {
    my $peer = NhfcPeer->start;
    my %setup = (http => <<"CONF", server => 'location = /seen { content_by_lua_block { ngx.print(ngx.shared.cues:get("agent")) } }');
    init_by_lua_block { assert(require("ngx.process").enable_privileged_agent()) }
    init_worker_by_lua_block {
        if require("ngx.process").type() ~= "privileged agent" then
            return
        end
        assert(ngx.timer.at(0, function()
            local client = require "resty.ngx_http_ffi_client"
            local body
            for i = 1, 3 do
                local opts = { host = "127.0.0.1", port = $peer->{port}, path = "/full/agent", keepalive = {} }
                body = assert(client.request_uri(opts)).body
            end
            ngx.shared.cues:set("agent", body)
        end))
    }
CONF
    my $nginx = eval { NhfcNginx->start(%setup) };
    skip('this nginx has no privileged agent', 1) if !$nginx && $@ =~ /missing privileged agent process patch/;
    die $@ if !$nginx;
    ok(eventually { $nginx->get('/seen')->{body} eq NhfcPeer::body('/full/agent') }, 'agent: its requests are answered');
    is($peer->count(qr/^accept /), 1, 'agent: on one connection');
    clean_end($nginx, 'agent');
    ok($peer->saw(qr{^gone \d+ /full/agent$}), 'agent: which is closed with it');
    $peer->stop;
}

# An internal redirect is the same request: what it had open is still its own, and ends with it.
{
    my $peer = NhfcPeer->start;
    my $nginx = NhfcNginx->start(http => 'init_by_lua_block { client = require "resty.ngx_http_ffi_client" }', server => <<"CONF");
        location = /first {
            rewrite_by_lua_block {
                dropped, kept = client.new(), client.new()
                assert(dropped:connect("127.0.0.1", $peer->{port}))
                assert(dropped:request({ path = "/head/dropped" }))
                assert(kept:connect("127.0.0.1", $peer->{port}))
                ngx.exec("/second")
            }
        }
        location = /second {
            content_by_lua_block {
                local res, err = kept:request({ path = "/full/second" })
                ngx.say(res and #res:read_body() or err)
                ngx.say(#assert(client.request_uri({ host = "127.0.0.1", port = $peer->{port}, path = "/full/third" })).body)
            }
        }
CONF
    my $length = length NhfcPeer::body('/full/second');
    my $fds;
    for my $time (1, 2) {
        my $third = length NhfcPeer::body('/full/third');
        is($nginx->get('/first')->{body}, "$length\n$third\n", 'redirect: goes on with what it has');
        ok($peer->saw(qr{^gone \d+ /$_$}, $time), "redirect: $_ is closed with the request") for 'head/dropped', 'full/second', 'full/third';
        ok(eventually { !$nginx->sockets_to($peer->{port}) }, 'redirect: no connection is left');
        # The first time the log and the event loop get descriptors, too.
        $fds //= $nginx->fds;
    }
    ok(eventually { $nginx->fds <= $fds }, 'redirect: no more descriptors than before');
    clean_end($nginx, 'redirect');
    $peer->stop;
}

# Finalisers run when a Lua state is closed: with lua_code_cache off at the end of each request, otherwise when the
# process has ended everything else. Whatever they call, they get an answer or an error.
for my $cache (qw(on off)) {
    for my $master (qw(on off)) {
        my $what = "finalisers, cache $cache, master $master";
        my $peer = NhfcPeer->start;
        my $nginx = NhfcNginx->start(master => $master, http => "lua_code_cache $cache;", server => <<"CONF");
        location = /begin {
            content_by_lua_block {
                local client = require "resty.ngx_http_ffi_client"
                local object = client.new()
                assert(object:connect("127.0.0.1", $peer->{port}))
                local res = assert(object:request({ path = "/half-body/left" }))
                -- The bytes of a file are there whatever else has ended.
                local log = assert(io.open(ngx.config.prefix() .. "/finalisers", "a"))
                local write = log.write
                local proxy = newproxy(true)
                getmetatable(proxy).__gc = function()
                    local calls = {
                        function() return object:set_keepalive() end,
                        function() return object:close() end,
                        function() return object:request({ path = "/" }) end,
                        function() return object:connect("127.0.0.1", $peer->{port}) end,
                        function() return res.body_reader() end,
                        function() return client.request_uri({ host = "127.0.0.1", port = $peer->{port} }) end,
                        function() return client.new():get_reused_times() end,
                        function() return object:set_timeout(1) end,
                    }
                    local n = 0
                    for i = 1, #calls do
                        local ok, given, err = pcall(calls[i])
                        n = n + ((not ok or given or err) and 1 or 0)
                    end
                    write(log, "finalised ", n, "\\n")
                    log:flush()
                end
                -- As long as the Lua state.
                package.loaded["kept_" .. tostring(proxy)] = proxy
                ngx.print("begun")
            }
        }
CONF
        is($nginx->get('/begin')->{body}, 'begun', "$what: a request") for 1 .. 3;
        ok($peer->saw(qr{^gone \d+ /half-body/left$}, 3), "$what: connections end with their requests");
        clean_end($nginx, $what, qr/lua_code_cache is off/);
        my $lines = NhfcNginx::slurp("$nginx->{dir}/finalisers");
        is($lines, "finalised 8\n" x 3, "$what: each has run, and has got its answers");
        $peer->stop;
    }
}

done_testing();
