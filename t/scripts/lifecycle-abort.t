#!/usr/bin/perl
# A request or light thread ends while it waits, in every state it can wait in: the socket is closed, nothing is
# resumed, nothing is left behind. Objects that Lua drops end with their request or timer.
use strict;
use warnings;

use Test::More;

use NhfcNginx qw(alive eventually read_answer send_request);
use NhfcPeer;

my $peer = NhfcPeer->start;
my $full = NhfcPeer->full_listener;
my $scenes = join '', map { "location = /$_ { content_by_lua_block { require('nhfc_scenes').$_() } }\n" }
    qw(cue wait exit exit_main kill drop drop_in_timer timer body);
my $nginx = NhfcNginx->start(server => <<"CONF");
    $scenes
    location = /watched {
        lua_check_client_abort on;
        content_by_lua_block { require("nhfc_scenes").wait() }
    }
    location = /captured {
        lua_check_client_abort on;
        content_by_lua_block { ngx.location.capture("/wait", { args = ngx.var.args }) }
    }
    location = /impatient {
        nhfc_connect_timeout 600ms;
        content_by_lua_block { require("nhfc_scenes").wait() }
    }
CONF

# Waiting state => where its upstream stops; none for a connect that never ends.
my %stops = (
    connecting   => undef,         connecting_one_shot => undef,
    sending      => 'unread',      head          => 'silent',      half_head    => 'half-head',
    body         => 'half-body',   first_piece   => 'head',        whole_body   => 'half-body',
    preread_body => 'half-body',   one_shot      => 'half-body',   one_shot_kept => 'silent',
    held         => 'full',
);
my @states = sort keys %stops;
my $worker = $nginx->worker;
my $serial = 0;
my @ended;    # scenes of which nothing may be resumed

sub path {
    my ($way, %args) = @_;
    return "/$way?" . join '&', "peer=$peer->{port}", "full=$full->{port}", map { "$_=$args{$_}" } sort keys %args;
}

sub cue { my ($name) = @_; return $nginx->get("/cue?name=$name") }

# Starts a scene and waits until its thread waits in the state.
sub begin {
    my ($way, $state, %more) = @_;
    my $id = join '-', $way, $state =~ tr/_/-/r, ++$serial;
    my $before = connecting();
    my $scene = { id => $id, way => $way, state => $state, stop => $stops{$state} };
    $scene->{client} = send_request($nginx, path($way, state => $state, id => $id, %more));
    if (!defined $scene->{stop}) {
        ok(eventually { connecting() > $before }, "$id: connects");
        return $scene;
    }
    $scene->{path} = "/$scene->{stop}/$id";
    my $report = $scene->{stop} eq 'full' ? 'answered' : 'stopped';
    ok($peer->saw(qr{^$report $scene->{path}$}), "$id: waits");
    $nginx->drained($peer->{port});
    return $scene;
}

# The worker's sockets that are connecting.
sub connecting { return scalar grep { $_->[0] == 2 } $nginx->sockets_to($full->{port}) }

# That the scene's socket is closed: the upstream sees it, or where there never was a connection the kernel.
sub socket_closed {
    my ($scene, $when) = @_;
    $peer->go($scene->{path}) if ($scene->{stop} // '') eq 'unread';    # it cannot see a close behind unread bytes
    my $closed = defined $scene->{stop}
        ? $peer->saw(qr{^gone \d+ $scene->{path}$})
        : eventually { !connecting() };
    ok($closed, "$scene->{id}: the socket is closed $when");
    return;
}

sub nothing_resumed {
    my ($scene) = @_;
    push @ended, $scene->{id};
    is($nginx->logged(qr/resumed $scene->{id} /), 0, "$scene->{id}: nothing is resumed");
    return;
}

sub nothing_left {
    my ($what, $fds) = @_;
    ok(eventually { $nginx->fds == $fds }, "$what: as many descriptors as before") or diag($nginx->fds . " and not $fds");
    is($nginx->worker, $worker, "$what: the worker lives");
    is_deeply($nginx->complaints, [], "$what: no complaint");
    my $log = $nginx->log;
    is_deeply([grep { $log =~ /resumed $_ / } @ended], [], "$what: nothing was resumed later");
    return;
}

# Everything is loaded, and the log and the event loop have their descriptors.
is($nginx->get(path('body', by => 'one_shot', path => '/full/first'))->{body}, NhfcPeer::body('/full/first'), 'a scene works');
ok($peer->saw(qr/^gone /), 'and closes its connection');
my $fds = $nginx->fds;

for my $way (qw(watched captured)) {
    for my $state (@states) {
        my $scene = begin($way, $state);
        close $scene->{client};
        socket_closed($scene, 'when the client leaves');
        nothing_resumed($scene);
    }
    nothing_left("client abort, $way", $fds);
}

for my $way (qw(exit exit_main)) {
    for my $state (@states) {
        my $scene = begin($way, $state);
        cue($scene->{id});
        ok(read_answer($scene->{client})->{complete}, "$scene->{id}: the request ends");
        is($nginx->logged(qr/exits $scene->{id}\b/), 1, "$scene->{id}: by the other thread");
        socket_closed($scene, 'with the request');
        nothing_resumed($scene);
    }
    nothing_left($way, $fds);
}

# Without lua_check_client_abort the request goes on, and its end closes what it left open.
for my $state (grep { !/kept/ } @states) {
    my $scene = begin(defined $stops{$state} ? 'wait' : 'impatient', $state);
    close $scene->{client};
    defined $scene->{stop} ? $peer->go($scene->{path}) : ();
    cue("$scene->{id}-held");
    ok(eventually { $nginx->logged(qr/resumed $scene->{id} /) == 1 }, "$scene->{id}: goes on without its client");
    socket_closed($scene, 'with the request');
}
nothing_left('client abort unnoticed', $fds);

# A killed thread's exchange ends with the request ...
for my $state (@states) {
    my $scene = begin('kill', $state);
    cue($_) for $scene->{id}, "$scene->{id}-end";
    is(read_answer($scene->{client})->{body}, "1\n", "$scene->{id}: the thread is killed and the request ends");
    socket_closed($scene, 'with the request');
    nothing_resumed($scene);
}
nothing_left('kill', $fds);

# ... or before, with the next event, ...
for my $state (grep { defined $stops{$_} && !/held|kept/ } @states) {
    my $scene = begin('kill', $state);
    cue($scene->{id});
    ok(eventually { $nginx->logged(qr/killed $scene->{id}\b/) }, "$scene->{id}: the thread is killed");
    $peer->go($scene->{path});
    socket_closed($scene, 'with what comes next');
    cue("$scene->{id}-end");
    is(read_answer($scene->{client})->{body}, "1\n", "$scene->{id}: the request goes on");
    nothing_resumed($scene);
}
nothing_left('kill, then an event', $fds);

# ... or with a deadline, ...
for my $state (grep { !/held|one_shot/ } @states) {
    my $scene = begin("kill", $state, timeout => defined $stops{$state} ? 100 : 600);
    cue($scene->{id});
    socket_closed($scene, 'with the deadline');
    cue("$scene->{id}-end");
    # On a busy machine the deadline may come before the cue to kill.
    like(read_answer($scene->{client})->{body}, qr/^(?:1|nilalready .*)$/, "$scene->{id}: the request goes on");
}
nothing_left('kill, then a deadline', $fds);

# ... or when the object is closed, which then can be used again.
for my $state (grep { !/one_shot/ } @states) {
    my $scene = begin('kill', $state, close => 1, again => 1);
    cue($scene->{id});
    ok(eventually { $nginx->logged(qr/killed $scene->{id}\b/) }, "$scene->{id}: the thread is killed");
    socket_closed($scene, 'by close()');
    cue("$scene->{id}-end");
    my $length = length NhfcPeer::body('/full/again');
    # Where ngx_lua tells of killed threads there is nothing left to close.
    like(read_answer($scene->{client})->{body}, qr/^1\n(?:1|nilclosed)\n1\n$length\n$/, "$scene->{id}: the object works again");
    nothing_resumed($scene);
}
nothing_left('kill, then close', $fds);

# Dropped objects.
for my $state (qw(connected unread half_read read)) {
    # A busy peer may tell of connections closed before only now, which would be taken for one of ours.
    ok(eventually { $peer->count(qr/^gone /) == $peer->count(qr/^accept /) }, "$state: nothing is open before");
    my $gone = $peer->count(qr/^gone /);
    is($nginx->get(path('drop', state => $state, id => "drop-$state"))->{status}, 204, "$state: is dropped");
    ok($peer->saw(qr/^gone /, $gone + 1), "$state: closed at the end of the request");
    my $id = "timer-$state";
    my $accepted = $peer->count(qr/^accept /);
    $nginx->get(path('drop_in_timer', state => $state, id => $id));
    ok(eventually { $nginx->logged(qr/dropped $id\b/) }, "$state: is dropped in a timer");
    is($peer->count(qr/^gone /), $gone + 1, "$state: open as long as the timer runs");
    cue($id);
    ok($peer->saw(qr/^gone /, $gone + 2), "$state: closed at the end of the timer");
    is($nginx->logged(qr/timer ends $id\b/), 1, "$state: which ended");
}
nothing_left('dropped', $fds);

# Many of them.
my $gone = $peer->count(qr/^gone /);
my $failed = 0;
for my $n (1 .. 1000) {
    my $state = (qw(connected unread half_read read))[$n % 4];
    $failed++ if $nginx->get(path('drop', state => $state, id => "many-$n"))->{status} != 204;
}
is($failed, 0, 'case 98, 1000 requests that drop their object');
ok($peer->saw(qr/^gone /, $gone + 1000), 'all connections are closed');
nothing_left('1000 dropped objects', $fds);

# No slot is left in use: a graceful exit would wait for it.
ok($nginx->quit, 'nginx quits');
ok(!alive($worker), 'the worker too');
is_deeply($nginx->complaints, [], 'no complaint');

done_testing();
