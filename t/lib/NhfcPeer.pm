package NhfcPeer;

# Upstreams for the scripted tests beside prove: processes that stop where they are told, so that a test need not
# guess when an exchange is in a certain state.
#
#     my $peer = NhfcPeer->start;                       # listens on 127.0.0.1:$peer->{port}
#     $peer->saw(qr{^stopped /half-body/1$}, 1);        # waits until that has been reported once
#     $peer->go('/half-body/1');                        # goes on; go() alone: all that have stopped, and no more stops
#
# The first part of a request's path says where it stops:
#
#   /full        nowhere                   /large       nowhere, and the body is large
#   /surplus     nowhere, and behind the response comes another that nobody asked for
#   /silent      before the head           /half-head   within the head
#   /head        before the body           /half-body   within the body
#   /unread      before reading the request's body
#
# The body is body($path), chunked where the path ends in "chunked". Reported are "accept N", "request N PATH",
# "stopped PATH", "answered PATH" and, when the client has closed connection N, "gone N LAST_PATH".

use strict;
use warnings;

use IO::Select;
use IO::Socket::INET;
use POSIX ();
use Socket qw(AF_UNIX PF_UNSPEC SOCK_STREAM);

use NhfcNginx qw(eventually);

my %running;
my $owner = $$;

END {
    if ($$ == $owner) {
        my $status = $?;
        $_->stop for values %running;
        $? = $status;
    }
}

sub body {
    my ($path) = @_;
    return "$path:" . '0123456789abcdef' x ($path =~ m{^/large} ? 7168 : 512);
}

sub start {
    my ($class) = @_;
    my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => 0, Listen => 1024) or die "listen: $@";
    socketpair my $ours, my $theirs, AF_UNIX, SOCK_STREAM, PF_UNSPEC or die "socketpair: $!";
    $_->blocking(0) for $ours, $theirs, $listener;
    my $pid = fork // die "fork: $!";
    if (!$pid) {
        close $ours;
        $SIG{PIPE} = 'IGNORE';
        $SIG{$_} = 'DEFAULT' for qw(INT TERM HUP);
        eval { serve($listener, $theirs); 1 } or print {*STDERR} "upstream: $@";
        POSIX::_exit(0);
    }
    my $self = bless { pid => $pid, port => $listener->sockport, control => $ours, text => '', reports => [] }, $class;
    $running{$pid} = $self;
    return $self;
}

sub stop {
    my ($self) = @_;
    delete $running{ $self->{pid} } or return;
    kill KILL => $self->{pid};
    waitpid $self->{pid}, 0;
    return;
}

sub go {
    my ($self, $path) = @_;
    syswrite $self->{control}, 'go ' . ($path // '*') . "\n";
    return;
}

# What has been reported so far.
sub reports {
    my ($self) = @_;
    while (sysread $self->{control}, $self->{text}, 65536, length $self->{text}) { }
    push @{ $self->{reports} }, $1 while $self->{text} =~ s/\A(.*)\n//;
    return @{ $self->{reports} };
}

sub count {
    my ($self, $pattern) = @_;
    return scalar grep { $_ =~ $pattern } $self->reports;
}

# Waits until it was reported so often. False when that takes too long.
sub saw {
    my ($self, $pattern, $times) = @_;
    return eventually { $self->count($pattern) >= ($times // 1) };
}

# A port on which connecting never ends: a listener whose backlog is full. The kernel drops what comes then.
sub full_listener {
    my ($class) = @_;
    my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => 0, Listen => 1) or die "listen: $@";
    my @fill;
    while (@fill < 16) {
        my $socket = IO::Socket::INET->new(Proto => 'tcp', Blocking => 0) or die "socket: $@";
        connect $socket, $listener->sockname;
        IO::Select->new($socket)->can_write(0.1) or return bless { listener => $listener, fill => \@fill, port => $listener->sockport }, $class;
        push @fill, $socket;
    }
    die "the backlog never fills\n";
}

# ---- the process

my ($select, $control, $orders, @out, %connections, %open, $open_all, $serial);

sub report {
    push @out, map { "$_\n" } @_;
    return;
}

sub serve {
    my ($listener, $channel) = @_;
    ($select, $control, $orders, $serial) = (IO::Select->new($listener, $channel), $channel, '', 0);
    while (1) {
        my $writers = @out ? IO::Select->new($control) : undef;
        my ($readable, $writable) = IO::Select->select($select, $writers, undef, 60);
        write_reports() if $writable && @$writable;
        for my $socket (@{ $readable // [] }) {
            if    ($socket == $listener) { accept_all($listener) }
            elsif ($socket == $control)  { read_orders() or return }
            else                         { read_request($connections{ fileno $socket }) }
        }
    }
    return;
}

sub write_reports {
    my $text = join '', splice @out;
    my $n = syswrite($control, $text) // 0;
    push @out, substr $text, $n if $n < length $text;
    return;
}

sub accept_all {
    my ($listener) = @_;
    while (my $socket = $listener->accept) {
        $socket->blocking(0);
        my $number = ++$serial;
        $connections{ fileno $socket } = { socket => $socket, number => $number, in => '', path => '-' };
        $select->add($socket);
        report("accept $number");
    }
    return;
}

sub read_orders {
    my $n = sysread $control, $orders, 65536, length $orders;
    return 0 if defined $n && $n == 0;
    while ($orders =~ s/\Ago (.*)\n//) {
        if   ($1 eq '*') { $open_all = 1 }
        else             { $open{$1} = 1 }
        continue_response($_) for values %connections;
    }
    return 1;
}

sub read_request {
    my ($c) = @_;
    return if !$c;
    my $n = sysread $c->{socket}, $c->{in}, 65536, length $c->{in};
    return if !defined $n && $!{EAGAIN};
    if (!$n) {
        report("gone $c->{number} $c->{path}");
        delete $connections{ fileno $c->{socket} };
        $select->remove($c->{socket});
        return close $c->{socket};
    }
    next_request($c);
    return;
}

# Begins to answer when a whole request is there; "unread" is answered by the head alone.
sub next_request {
    my ($c) = @_;
    return if $c->{parts} || $c->{in} !~ /\A(\S+) (\S+) (.*?)\r\n\r\n/s;
    my ($path, $head, $length) = ($2, $+[0], 0);
    $length = $1 if $3 =~ /^content-length: *(\d+)/mi;
    my $stop = $path =~ m{\A/([\w-]+)/} ? $1 : 'full';
    my $skip = sub { substr $c->{in}, 0, $head + $length, ''; return };
    if ($stop eq 'unread') {
        $select->remove($c->{socket});
    } elsif (length $c->{in} < $head + $length) {
        return;
    } else {
        $skip->();
    }
    $c->{path} = $path;
    report("request $c->{number} $path");
    $c->{parts} = [parts($path, $stop)];
    if ($stop eq 'unread') {
        $c->{unread} = $head + $length;
    }
    continue_response($c);
    return;
}

# The response, cut where it stops.
sub parts {
    my ($path, $stop) = @_;
    my $body = body($path);
    my $length = length $body;
    my $chunked = $path =~ /chunked\z/;
    my $head = "HTTP/1.1 200 OK\r\nX-Path: $path\r\n"
        . ($chunked ? "Transfer-Encoding: chunked\r\n\r\n" : "Content-Length: $length\r\n\r\n");
    my @body = (substr($body, 0, 1000), substr $body, 1000);
    @body = map { sprintf "%x\r\n%s\r\n", length, $_ } @body if $chunked;
    $body[1] .= "0\r\n\r\n" if $chunked;
    return ('', "$head$body[0]$body[1]") if $stop eq 'silent' || $stop eq 'unread';
    return (substr($head, 0, 30), substr($head, 30) . $body[0] . $body[1]) if $stop eq 'half-head';
    return ($head, $body[0] . $body[1]) if $stop eq 'head';
    return ($head . $body[0], $body[1]) if $stop eq 'half-body';
    $body[1] .= "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nsurplus" if $stop eq 'surplus';
    return ("$head$body[0]$body[1]");
}

sub continue_response {
    my ($c) = @_;
    my $parts = $c->{parts} or return;
    if (!$c->{stopped}) {
        send_all($c, shift @$parts);
        if (@$parts) {
            $c->{stopped} = 1;
            report("stopped $c->{path}");
        }
    }
    if (@$parts) {
        return if !$open_all && !$open{ $c->{path} };
        return read_late($c) if $c->{unread} && length $c->{in} < $c->{unread};
        substr $c->{in}, 0, delete $c->{unread}, '' if $c->{unread};
        send_all($c, shift @$parts);
    }
    report("answered $c->{path}");
    delete @$c{qw(parts stopped)};
    next_request($c) if length $c->{in};
    return;
}

# The rest of a request that was left unread; ends with the request or with the client.
sub read_late {
    my ($c) = @_;
    $c->{socket}->blocking(1);
    while (length $c->{in} < $c->{unread}) {
        last if !sysread $c->{socket}, $c->{in}, 65536, length $c->{in};
    }
    $c->{socket}->blocking(0);
    $select->add($c->{socket});
    continue_response($c) if length $c->{in} >= $c->{unread};
    return;
}

sub send_all {
    my ($c, $text) = @_;
    while (length $text) {
        my $n = syswrite $c->{socket}, $text;
        if (!defined $n) {
            return if !$!{EAGAIN};
            IO::Select->new($c->{socket})->can_write(5) or return;
            next;
        }
        substr $text, 0, $n, '';
    }
    return;
}

1;
