package Test::Nginx::Runner::Upstream;

# The scripted TCP server of --- tcp_listen: it serves exactly one connection, in a process of its own.

use strict;
use warnings;

use IO::Select ();
use IO::Socket::INET ();
use IO::Socket::UNIX ();
use POSIX ();
use Socket qw(SOCK_STREAM);
use Test::More ();
use Time::HiRes qw(sleep time);

use Test::Nginx::Runner::Settings qw(%settings bail_out expand section seconds);

my $child;       # pid of the server process
my $listener;    # kept open here too: a second connection is accepted by the kernel and never served
my $query_file = "$settings{servroot}/logs/tcp_query";

sub start {
    my ($case) = @_;
    my $target = expand(section($case, 'tcp_listen'), $case) // return;
    bail_out("$case->{name} - tcp_listen without tcp_reply or tcp_shutdown")
        if !defined section($case, 'tcp_reply') && !defined section($case, 'tcp_shutdown');
    $listener = listen_on($case, $target);
    unlink $query_file;
    $child = fork // bail_out("fork: $!");
    return if $child;

    # The test's own END blocks and signal handlers are none of the child's business.
    $SIG{$_} = 'DEFAULT' for qw(INT TERM HUP __DIE__);
    $SIG{PIPE} = 'IGNORE';
    eval { serve($case); 1 } or warn "$case->{name} - tcp server: $@";
    POSIX::_exit(0);
}

sub listen_on {
    my ($case, $target) = @_;
    my $socket;
    if ($target =~ /\A\d+\z/) {
        my $limit = time + 3;
        do {
            $socket = IO::Socket::INET->new(
                LocalAddr => '127.0.0.1',
                LocalPort => $target,
                Proto     => 'tcp',
                Listen    => 5,
                ReuseAddr => 1,
            );
        } while (!$socket && time < $limit && sleep 0.1);
    }
    elsif ($target =~ /\.sock\z/) {
        unlink $target;
        $socket = IO::Socket::UNIX->new(Local => $target, Type => SOCK_STREAM, Listen => 5);
    }
    return $socket // bail_out("$case->{name} - cannot listen on \"$target\": $!");
}

sub serve {
    my ($case) = @_;
    my $client;
    do { $client = $listener->accept } while !$client && $!{EINTR};
    die "accept: $!\n" if !$client;

    my $side = section($case, 'tcp_shutdown');
    if (defined $side) {
        sleep(seconds(section($case, 'tcp_shutdown_delay')) // 0);
        $client->shutdown($side);
    }
    my $query = defined $side && $side != 1 ? '' : read_query($case, $client);
    sleep(seconds(section($case, 'tcp_reply_delay')) // 0);
    send_reply($case, $client, $query) if !defined $side || $side == 0;

    sleep 1 while defined section($case, 'tcp_no_close');
    $client->close;
    $listener->close;
    return;
}

sub wanted_length {
    my ($case) = @_;
    my $expected = section($case, 'tcp_query');
    return section($case, 'tcp_query_len') // (defined $expected ? length $expected : undef);
}

# One read, unless the test says how much there is to come or how long a silence ends it. What has come is
# in the file at once, because the test may look before this process is done.
sub read_query {
    my ($case, $client) = @_;
    my $length = wanted_length($case);
    my $silence = section($case, 'tcp_query_auto_timeout');
    $silence = length $silence ? seconds($silence) : 0.1 if defined $silence;
    open my $out, '>:raw', $query_file or die "$query_file: $!\n";
    my $query = '';
    while (1) {
        last if defined $silence && !IO::Select->new($client)->can_read($silence);
        my $got = sysread $client, my $bytes, 65_536;
        last if !$got;
        $query .= $bytes;
        syswrite $out, $bytes;
        last if !defined $silence && length $query >= ($length // 0);
    }
    return $query;
}

sub send_reply {
    my ($case, $client, $query) = @_;
    my $reply = section($case, 'tcp_reply') // return;
    $reply = $reply->($query) if ref $reply eq 'CODE';
    for my $piece (ref $reply ? @$reply : $reply) {
        my $sent = 0;
        while ($sent < length $piece) {
            $sent += syswrite($client, $piece, length($piece) - $sent, $sent) // return;
        }
    }
    return;
}

# The query may still be on its way when the response to the client is already complete.
sub received {
    my ($wanted) = @_;
    my $limit = time + 0.3;
    sleep 0.002 while (-s $query_file // 0) < ($wanted // 1) && time < $limit;
    open my $in, '<:raw', $query_file or return '';
    local $/;
    return scalar(<$in>) // '';
}

sub check {
    my ($case, $is_str) = @_;
    return if !$child;
    my $query = section($case, 'tcp_query');
    my $length = section($case, 'tcp_query_len');
    return if !defined $query && !defined $length;
    my $got = received(wanted_length($case));
    $is_str->($got, $query, "$case->{name} - tcp_query ok") if defined $query;
    Test::More::is(length $got, $length, "$case->{name} - tcp_query_len ok") if defined $length;
    return;
}

sub stop {
    if ($child) {
        kill KILL => $child;
        waitpid $child, 0;
        undef $child;
    }
    undef $listener;
    return;
}

1;
