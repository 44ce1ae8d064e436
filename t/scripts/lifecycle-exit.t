#!/usr/bin/perl
# The worker leaves: reload, graceful quit, worker_shutdown_timeout. What was accepted is answered in full, nothing is
# left behind, and idle connections hold nothing back.
use strict;
use warnings;

use POSIX ();
use Test::More;

use NhfcNginx qw(alive eventually read_answer send_request);
use NhfcPeer;

my $scenes = join '', map { "location = /$_ { content_by_lua_block { require('nhfc_scenes').$_() } }\n" }
    qw(cue body wait timer);
my $endless = join '', map { "lua_socket_${_}_timeout 0; nhfc_${_}_timeout 0;\n" } qw(connect send read keepalive);

sub start {
    my (%o) = @_;
    return NhfcNginx->start(%o, server => "$scenes location = /pid { content_by_lua_block { ngx.print(ngx.worker.pid()) } }");
}

sub path {
    my ($peer, $way, %args) = @_;
    return "/$way?" . join '&', "peer=$peer->{port}", map { "$_=$args{$_}" } sort keys %args;
}

sub clean_end {
    my ($nginx, $what) = @_;
    ok($nginx->quit, "$what: nginx quits");
    is_deeply($nginx->complaints, [], "$what: no complaint");
    return;
}

# Requests that have stopped in the middle, one for each state and way of asking. [socket, path]
sub stopped_requests {
    my ($nginx, $peer) = @_;
    my @requests;
    for my $stop (qw(silent half-head head half-body)) {
        for my $by (qw(one_shot kept preread stream)) {
            for my $form ('', '-chunked') {
                my $path = "/$stop/$by$form";
                push @requests, [send_request($nginx, path($peer, 'body', by => $by, path => $path)), $path];
            }
        }
    }
    ok($peer->saw(qr/^stopped /, scalar @requests), 'all requests have stopped');
    $nginx->drained($peer->{port});
    return @requests;
}

sub answers {
    my ($what, @requests) = @_;
    for my $request (@requests) {
        my ($socket, $path) = @$request;
        my $answer = read_answer($socket);
        ok($answer->{complete} && $answer->{body} eq NhfcPeer::body($path), "$what: $path is answered in full")
            or diag(substr "$answer->{status} $answer->{body}", 0, 100);
    }
    return;
}

# Fills the pool with connections that never expire.
sub fill_pool {
    my ($nginx, $peer) = @_;
    my $before = $nginx->sockets_to($peer->{port});
    for my $by (qw(kept stream)) {
        is($nginx->get(path($peer, 'body', by => $by, path => '/full/pool', idle => 0))->{body}, NhfcPeer::body('/full/pool'), "$by");
    }
    is(scalar $nginx->sockets_to($peer->{port}), $before + 1, 'a connection is idle in the pool');
    return;
}

for my $case (['usual timeouts', ''], ['no timeouts', $endless]) {
    my ($name, $http) = @$case;
    my $peer = NhfcPeer->start;
    my $nginx = start(http => $http);
    my @requests = stopped_requests($nginx, $peer);
    fill_pool($nginx, $peer);
    my $old = $nginx->worker;
    my $new = $nginx->reload;
    is($nginx->get('/pid')->{body}, $new, "$name: the new worker answers");
    ok($peer->saw(qr{^gone \d+ /full/pool$}), "$name: the old worker closes its idle connection");
    ok(alive($old), "$name: and stays for its requests");
    $peer->go;
    answers($name, @requests);
    ok(eventually { !alive($old) }, "$name: the old worker leaves");
    is($nginx->worker, $new, "$name: the new one stays");
    clean_end($nginx, $name);
    ok(eventually { $peer->count(qr/^gone /) == $peer->count(qr/^accept /) }, "$name: every connection is closed");
    $peer->stop;
}

# A connect that is under way when the worker begins to leave.
{
    my $full = NhfcPeer->full_listener;
    my $nginx = start(http => $endless);
    my $client = send_request($nginx, "/body?by=one_shot&path=/&peer=$full->{port}");
    ok(eventually { grep { $_->[0] == 2 } $nginx->sockets_to($full->{port}) }, 'connecting');
    my $old = $nginx->worker;
    $nginx->reload;
    ok(alive($old), 'connecting: the old worker stays');
    close $_ for @{ $full->{fill} };
    my $answered;
    while (!$answered) {
        my $socket = $full->{listener}->accept or last;
        sysread $socket, my $request, 1000 or next;    # what filled the backlog comes first
        print {$socket} "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        $answered = close $socket;
    }
    is(read_answer($client)->{body}, 'hello', 'connecting: answered');
    ok(eventually { !alive($old) }, 'connecting: the old worker leaves');
    clean_end($nginx, 'connecting');
}

# An idle pool holds nobody back, whatever its timeout; neither does one that expires later.
for my $idle (0, 3_600_000) {
    my $peer = NhfcPeer->start;
    my $nginx = start();
    $nginx->get(path($peer, 'body', by => 'kept', path => '/full/idle', idle => $idle));
    is(scalar $nginx->sockets_to($peer->{port}), 1, "idle $idle: a connection is idle");
    my $old = $nginx->worker;
    $nginx->reload;
    ok(eventually { !alive($old) }, "case 99, idle $idle: the old worker leaves at once");
    ok($peer->saw(qr/^gone /), "idle $idle: its connection is closed");
    $nginx->get(path($peer, 'body', by => 'stream', path => '/full/idle', idle => $idle));
    clean_end($nginx, "idle $idle");
    is($peer->count(qr/^accept /), 2, "idle $idle: each worker had one connection");
    $peer->stop;
}

# A client that takes a connection for each request, until nobody listens any more. Writes a line for each:
# its id and "ok", "nothing" (not a byte came back), or what was wrong.
sub load {
    my ($nginx, $peer, $name, $pipe) = @_;
    my @by = qw(one_shot kept preread stream);
    for my $n (1 .. 100_000) {
        my ($id, $by, $path) = ("$name-$n", $by[$n % 4], "/full/$name-$n" . ($n % 3 ? '' : '-chunked'));
        my $socket = send_request($nginx, path($peer, 'body', id => $id, by => $by, path => $path)) or last;
        my $answer = read_answer($socket);
        my $what = $answer->{complete} && $answer->{body} eq NhfcPeer::body($path) ? 'ok'
            : $answer->{status} == 0 ? 'nothing' : "$answer->{status} " . substr $answer->{body}, 0, 80;
        syswrite $pipe, "$id $what\n";
    }
    return;
}

# Load while nginx is told to do something. Returns the lines by id.
sub under_load {
    my ($nginx, $peer, $clients, $meanwhile) = @_;
    pipe my $in, my $out or die "pipe: $!";
    my @children = map {
        my $name = "c$_";
        my $pid = fork // die "fork: $!";
        if (!$pid) {
            eval { load($nginx, $peer, $name, $out) };
            POSIX::_exit(0);
        }
        $pid;
    } 1 .. $clients;
    close $out;
    my %result;
    my $read = sub {
        my $line = <$in> // return 0;
        $peer->reports if keys(%result) % 100 == 0;
        my ($id, $what) = $line =~ /^(\S+) (.*)$/;
        $result{$id} = $what;
        return 1;
    };
    $meanwhile->(sub { my ($n) = @_; my $until = keys(%result) + $n; 1 while keys %result < $until && $read->() });
    1 while $read->();
    waitpid $_, 0 for @children;
    return \%result;
}

# No request fails while workers come and go; at the end each that nginx has logged was answered in full.
{
    my $peer = NhfcPeer->start;
    my $nginx = start();
    my @old;
    my ($n, @at_reload) = (0);
    my $result = under_load($nginx, $peer, 8, sub {
        my ($answered) = @_;
        $answered->(200);
        for (1 .. 3) {
            push @old, $nginx->workers;
            $nginx->signal('HUP');
            $answered->(200);
        }
        push @old, $nginx->workers;
        $nginx->signal('QUIT');
    });
    ok(eventually { !!$nginx->ended }, 'load: nginx quits');
    is($nginx->{status}, 0, 'load: with status 0');
    is_deeply([grep { alive($_) } @old], [], 'load: no worker is left');
    my %logged = map { /^(\S+) (\d+)/ ? ($1 => $2) : () } split /\n/, $nginx->access_log;
    my @bad = grep { ($result->{$_} // 'lost') ne 'ok' } grep { /^c/ } keys %logged;
    is_deeply([map { "$_ " . ($result->{$_} // 'lost') } @bad], [], 'load: each accepted request was answered in full');
    # On QUIT nginx drops connections that it has not accepted; a client has at most one of these.
    my @unlogged = grep { !$logged{$_} } keys %$result;
    is_deeply([grep { $_ ne 'nothing' } map { $result->{$_} } @unlogged], [], 'load: the others got nothing at all');
    cmp_ok(scalar @unlogged, '<=', 8, 'load: and only at the end');
    cmp_ok(scalar keys %logged, '>=', 800, 'load: there were many');
    is_deeply($nginx->complaints, [], 'load: no complaint');
    $peer->stop;
}

# worker_shutdown_timeout: an exchange that never ends is given up, in whatever state and wherever it runs.
{
    my $peer = NhfcPeer->start;
    my $full = NhfcPeer->full_listener;
    my $nginx = start(main => 'worker_shutdown_timeout 300ms;', http => $endless);
    fill_pool($nginx, $peer);
    my @clients;
    for my $way (qw(wait timer)) {
        for my $state (qw(connecting connecting_one_shot sending head half_head body whole_body one_shot one_shot_kept held)) {
            my $id = "$way-$state" =~ tr/_/-/r;
            push @clients, send_request($nginx, path($peer, $way, full => $full->{port}, state => $state, id => $id));
        }
    }
    ok($peer->saw(qr/^stopped /, 14) && $peer->saw(qr/^answered .*held$/, 2), 'shutdown: all wait');
    ok(eventually { 4 == grep { $_->[0] == 2 } $nginx->sockets_to($full->{port}) }, 'shutdown: or connect');
    my $accepted = $peer->count(qr/^accept /);
    my $old = $nginx->worker;
    my $new = $nginx->reload;
    # A timer that sleeps would hold the worker as long as it likes; what it holds meanwhile is closed all the same.
    ok($peer->saw(qr/^gone .*timer-held/), 'shutdown: the connection that a timer holds is closed');
    $nginx->get('/cue?name=timer-held-held');
    ok(eventually { !alive($old) }, 'shutdown: the old worker leaves');
    is($nginx->worker, $new, 'shutdown: the new one stays');
    is($peer->count(qr/^accept /), $accepted, 'shutdown: nothing was sent again');
    $peer->go;
    ok(eventually { $peer->count(qr/^gone /) == $peer->count(qr/^accept /) }, 'shutdown: every connection is closed');
    clean_end($nginx, 'shutdown');
    $peer->stop;
}

done_testing();
