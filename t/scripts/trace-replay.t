#!/usr/bin/perl
# What nginx logs with its bytes is played again by examples/replay.rs, line by line the same. "make integration" has
# built that program; by hand it is "cargo build --features sim --example replay".
use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Temp qw(tempfile);
use Test::More;

use NhfcNginx qw(eventually send_request);
use NhfcPeer;

my $root = abs_path(dirname(__FILE__) . '/../..');
my $replay = ($ENV{CARGO_TARGET_DIR} // "$root/target") . '/debug/examples/replay';
my $scenes = join '', map { "location = /$_ { content_by_lua_block { require('nhfc_scenes').$_() } }\n" }
    qw(cue body wait kill drop late surplus);

sub path {
    my ($peer, $way, %args) = @_;
    return "/$way?" . join '&', "peer=$peer->{port}", map { "$_=$args{$_}" } sort keys %args;
}

# Plays the log of an nginx that has ended. Returns the lines and what the program said beside them.
sub replay {
    my ($nginx) = @_;
    my ($complaints, $file) = tempfile(UNLINK => 1);
    open my $pipe, '-|', 'sh', '-c', 'exec "$0" "$1" 2>"$2"', $replay, "$nginx->{dir}/error.log", $file or die "sh: $!";
    local $/;
    my $played = <$pipe> // '';
    close $pipe;
    return ($?, $played, scalar <$complaints> // '');
}

sub is_replayed {
    my ($nginx, $what, @wanted) = @_;
    ok($nginx->quit, "$what: nginx quits");
    is_deeply($nginx->complaints, [], "$what: no complaint");
    my ($status, $played, $said) = replay($nginx);
    is("$status $said", "0 ", "$what: is played as it was");
    ok($played =~ $_, "$what: $_") for @wanted;
    return;
}

ok(-x $replay, 'the program that replays has been built') or BAIL_OUT("no $replay");

# Everything that happens in a worker.
{
    my $peer = NhfcPeer->start;
    my $full = NhfcPeer->full_listener;
    my $nginx = NhfcNginx->start(server => $scenes, http => 'nhfc_trace on; nhfc_trace_bytes on;');
    for my $form ('', '-chunked') {
        for my $by (qw(one_shot kept preread stream)) {
            for my $what (qw(full surplus large)) {
                is($nginx->get(path($peer, 'body', by => $by, path => "/$what/$by$form"))->{body},
                    NhfcPeer::body("/$what/$by$form"), "$what $by$form");
            }
        }
    }
    $nginx->get(path($peer, 'late', id => 'late'));
    $nginx->get(path($peer, 'surplus', id => 'surplus'));
    for my $state (qw(connecting head half_head body whole_body preread_body one_shot)) {
        $nginx->get(path($peer, 'wait', full => $full->{port}, state => $state, id => "out-$state", timeout => 50)) if $state ne 'one_shot';
        my $client = send_request($nginx, path($peer, 'kill', full => $full->{port}, state => $state, id => $state));
        ok($peer->saw(qr/^stopped .*\/$state$/), "$state: waits") if $state ne 'connecting';
        $nginx->get("/cue?name=$_") for $state, "$state-end";
        NhfcNginx::read_answer($client);
    }
    $nginx->get(path($peer, 'drop', state => $_, id => $_, full => $full->{port})) for qw(connected unread half_read read);
    # A port on which nobody listens.
    my $port = NhfcNginx::free_port();
    $nginx->get("/body?peer=$port&by=one_shot&path=/");
    # Connections that are idle when the worker leaves.
    $nginx->get(path($peer, 'body', by => 'kept', path => '/full/end', idle => 0));
    is_replayed($nginx, 'everything', qr/> expired/, qr/> abort/, qr/> connectfailed connection refused/, qr/-> Held/,
        qr/unsolicited bytes/, qr/Pooled -> Writing/);
    $peer->stop;
}

# Single requests, whose connections are there before and after.
{
    my $peer = NhfcPeer->start;
    my $nginx = NhfcNginx->start(http => 'nhfc_trace_bytes on;', server => <<'CONF');
        location = /t {
            content_by_lua_block {
                local client = require "resty.ngx_http_ffi_client"
                local port = tonumber(ngx.var.arg_peer)
                local function fetch(path, trace, more)
                    local opts = { host = "127.0.0.1", port = port, path = path, keepalive = {}, trace = trace }
                    for name, value in pairs(more or {}) do
                        opts[name] = value
                    end
                    assert(client.request_uri(opts))
                end
                local function object(connect, first, second)
                    local httpc = client.new()
                    assert(httpc:connect({ host = "127.0.0.1", port = port, trace = connect }))
                    for i, trace in ipairs({ first, second }) do
                        local res = assert(httpc:request({ path = "/full/" .. i, trace = trace, headers = { ["X-Number"] = i } }))
                        assert(res:read_body())
                    end
                    assert(httpc:set_keepalive())
                end
                fetch("/full/untraced")
                fetch("/full/traced", true, { method = "POST", body = ("x"):rep(1000), headers = { ["X-A"] = { "1", "2" } }, query = "a=1" })
                fetch("/full/untraced")
                fetch("/full/named", true, { keepalive = { pool = "a name", pool_size = 2, idle_timeout = 0 }, limits = { header_lines = 9 } })
                object(true, false, false)
                object(false, true, true)
                object(false, false, true)
                local threads = {}
                for i = 1, 4 do
                    threads[i] = ngx.thread.spawn(fetch, "/full/" .. i, i ~= 2)
                end
                for i = 1, 4 do
                    assert(ngx.thread.wait(threads[i]))
                end
                fetch("/full/again", true)
                ngx.print("ok")
            }
        }
CONF
    is($nginx->get("/t?peer=$peer->{port}")->{body}, 'ok', 'single requests are answered');
    is_replayed($nginx, 'single requests', qr{> fetch     POST http://127\.0\.0\.1:\d+/full/traced body=1000}, qr/pool=a\?name/, qr/Held -> Writing/);
    unlike($nginx->log, qr/nhfc: .*untraced/, 'the others leave no line');
    $peer->stop;
}

done_testing();
