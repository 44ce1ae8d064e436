#!/usr/bin/perl
# How nginx can be set up: the order of modules and what is missing, connections used up, no master, no code cache,
# each way to wait for events. A kept connection is used again wherever it can be.
use strict;
use warnings;

use Test::More;

use NhfcNginx qw(alive eventually read_answer send_request);
use NhfcPeer;

my $peer = NhfcPeer->start;
my $scenes = join '', map { "location = /$_ { content_by_lua_block { require('nhfc_scenes').$_() } }\n" }
    qw(cue body late surplus use_up wait exit kill drop drop_in_timer);

sub path {
    my ($way, %args) = @_;
    return "/$way?" . join '&', "peer=$peer->{port}", map { "$_=$args{$_}" } sort keys %args;
}

sub gives_body {
    my ($nginx, $by, $what, %args) = @_;
    my $path = '/full/' . $what =~ tr/a-z0-9/-/cr;
    my $answer = $nginx->get(path('body', by => $by, path => $path, %args));
    ok($answer->{body} eq NhfcPeer::body($path), "$what: $by") or diag(substr "$answer->{status} $answer->{body}", 0, 100);
    return;
}

sub clean_end {
    my ($nginx, $what, $but) = @_;
    ok($nginx->quit, "$what: nginx quits");
    is_deeply($nginx->complaints($but), [], "$what: no complaint");
    return;
}

# Kept connections are used again: as many are accepted upstream as are in use at once.
sub reuses {
    my ($nginx, $what) = @_;
    my $accepted = $peer->count(qr/^accept /);
    gives_body($nginx, $_, "$what $_") for map { (qw(kept stream preread))[$_ % 3] } 1 .. 9;
    is($peer->count(qr/^accept /), $accepted + 1, "$what: one connection for nine requests");
    gives_body($nginx, 'one_shot', $what) for 1 .. 2;
    is($peer->count(qr/^accept /), $accepted + 2, "$what: of the next, the first takes it out and closes it");
    return;
}

# ---- modules: their order, and what is missing

{
    my @modules = NhfcNginx::modules();
    my ($lua) = grep { m{/ngx_http_lua_module\.so\z} } @modules;
    my ($ours) = grep { !m{/(?:ndk_http|ngx_http_lua)_module\.so\z} } @modules;
    my @others = grep { $_ ne $ours } @modules;
    my %orders = (last => [@others, $ours], first => [$ours, @others], between => [$others[0] // (), $ours, @others[1 .. $#others]]);
    for my $name (sort keys %orders) {
        my $nginx = NhfcNginx->start(modules => $orders{$name}, server => $scenes);
        gives_body($nginx, $_, "loaded $name") for qw(one_shot stream);
        clean_end($nginx, "loaded $name");
    }

    my $nginx = NhfcNginx->start(modules => \@others, server => <<'CONF');
        location = /t {
            content_by_lua_block {
                local client = require "resty.ngx_http_ffi_client"
                ngx.say((select(2, client.request_uri({ host = "127.0.0.1" }))))
                ngx.say((select(2, client.new())))
            }
        }
CONF
    my @lines = split /\n/, $nginx->get('/t')->{body};
    is(scalar @lines, 2, 'without our module: both entry points answer');
    like($_, qr/ngx_http_ffi_client_module is not loaded: .*load_module/, 'without our module: and say what to do') for @lines;
    clean_end($nginx, 'without our module');

    SKIP: {
        skip('ngx_lua is compiled in', 4) if !$lua;
        my ($status, $output) = NhfcNginx->check(modules => [$ours], no_lua => 1);
        isnt($status, 0, 'without ngx_lua: the configuration is refused');
        my @emerg = grep { /\[emerg\]/ } split /\n/, $output;
        is(scalar @emerg, 1, 'without ngx_lua: in one line') or diag($output);
        like($emerg[0] // '', qr/ngx_http_lua_module is not loaded/, 'without ngx_lua: that says why');
        ($status, $output) = NhfcNginx->check(modules => \@modules);
        is($status, 0, 'with it: the configuration is good') or diag($output);
    }
}

# ---- connections

# A connection that is used again is used without a new one being made.
{
    my $nginx = NhfcNginx->start(server => $scenes);
    reuses($nginx, 'reuse');
    clean_end($nginx, 'reuse');
}

# All of worker_connections in use: an error that says so, and nothing is lost for good.
{
    my $nginx = NhfcNginx->start(worker_connections => 48, server => $scenes);
    gives_body($nginx, 'one_shot', 'before connections run out');
    my $fds = eventually { !$nginx->sockets_to($peer->{port}) } && $nginx->fds;
    my %said;
    for my $round (1 .. 5) {
        my $gone = $peer->count(qr/^gone /);
        my $said = $nginx->get(path('use_up'))->{body};
        like($said, qr/^[34]\d no free connections$/, "connections run out, round $round");
        $said{$said} = 1;
        my ($n) = $said =~ /^(\d+)/;
        ok($peer->saw(qr/^gone /, $gone + $n), 'and all are closed');
    }
    is(scalar keys %said, 1, 'as many each time') or diag(sort keys %said);
    gives_body($nginx, $_, 'after connections ran out') for qw(one_shot kept preread stream);
    ok($nginx->logged(qr/\[alert\] .*48 worker_connections are not enough/), 'nginx says it, too');
    # One is kept in the pool.
    ok(eventually { $nginx->fds == $fds + 1 }, 'case 100, connections ran out: no descriptor is left open') or diag($nginx->fds . " and not $fds + 1");

    # nginx closes idle clients to make room, which happens in the middle of our connecting.
    my @idle = map { IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $nginx->{port}) } 1 .. 30;
    for my $client (@idle) {
        print {$client} "GET /up HTTP/1.1\r\nHost: t\r\n\r\n";
        $client->flush;
        sysread $client, my $answer, 1000;
    }
    my ($n) = $nginx->get(path('use_up'))->{body} =~ /^(\d+) no free connections$/;
    ok($n && $n > 30, 'idle clients make room') or diag($n);
    gives_body($nginx, 'one_shot', 'after idle clients made room');
    clean_end($nginx, 'connections', qr/worker_connections are not enough/);
}

# ---- processes and events

# One after the other in one nginx: the module at work, threads killed, requests ended, objects dropped.
sub everything {
    my ($nginx, $what) = @_;
    my $tag = $what =~ tr/a-z0-9/-/cr;
    gives_body($nginx, $_, $what) for qw(one_shot preread);
    my $late = $nginx->get(path('late', id => $tag))->{body};
    ok($late eq NhfcPeer::body("/large/$tag"), "$what: a body that comes while its reader is about to wait")
        or diag(length($late) . ' bytes: ' . substr $late, 0, 100);
    is($nginx->get(path('surplus', id => $tag))->{body}, "closed\n", "$what: what nobody asked for answers nothing");
    gives_body($nginx, 'one_shot', $what);    # takes the kept connection out
    ok(eventually { !$nginx->sockets_to($peer->{port}) }, "$what: no connection is left");
    my $fds = $nginx->fds;
    for my $state (qw(head half_head body whole_body preread_body one_shot held)) {
        for my $way (qw(exit kill)) {
            my $id = "$tag-$way-$state" =~ tr/_/-/r;
            my $client = send_request($nginx, path($way, state => $state, id => $id));
            ok($peer->saw(qr{^(?:stopped|answered) \S+/$id$}), "$what: $way in $state");
            $nginx->drained($peer->{port});
            $nginx->get("/cue?name=$_") for $id, "$id-end";
            ok(read_answer($client)->{complete}, "$what: the request ends");
            ok($peer->saw(qr{^gone \d+ \S+/$id$}), "$what: its connection is closed");
            is($nginx->logged(qr/resumed $id /), 0, "$what: nothing is resumed");
        }
    }
    for my $state (qw(connected unread half_read read)) {
        for my $way (qw(drop drop_in_timer)) {
            my $id = "$tag-$way-$state" =~ tr/_/-/r;
            my $gone = $peer->count(qr/^gone /);
            $nginx->get(path($way, state => $state, id => $id));
            $nginx->get("/cue?name=$id");
            ok($peer->saw(qr/^gone /, $gone + 1), "$what: $way $state");
        }
    }
    ok(eventually { $nginx->fds == $fds }, "$what: as many descriptors as before") or diag($nginx->fds . " and not $fds");
    return;
}

my %setups = (
    'master_process off' => { master => 'off' },
    'lua_code_cache off' => { http => 'lua_code_cache off;' },
    'both off'           => { master => 'off', http => 'lua_code_cache off;' },
    map { ("use $_" => { events => "use $_;" }) } qw(epoll poll select),
);

for my $what (sort keys %setups) {
    my %setup = (%{ $setups{$what} }, server => $scenes);
    SKIP: {
        skip("$what: this nginx cannot", 1) if $setup{events} && (NhfcNginx->check(%setup))[0] != 0;
        my $nginx = NhfcNginx->start(%setup);
        my $worker = $nginx->worker;
        everything($nginx, $what);
        reuses($nginx, $what);
        is($nginx->worker, $worker, "$what: the worker lives");
        clean_end($nginx, $what, qr/lua_code_cache is off; this will hurt performance/);
        ok(!alive($worker), "$what: the worker is gone");
    }
}

done_testing();
