package Bench::Client;

# A keepalive HTTP/1.1 client that counts exactly and looks at every answer: for warming up, checking,
# the instruction counts and the soak. wrk is the load generator of the timed runs.

use strict;
use warnings;
use IO::Select;
use IO::Socket::INET;
use Socket qw(IPPROTO_TCP TCP_NODELAY);

$SIG{PIPE} = 'IGNORE';    # a connection the gateway closed is an error to report, not our end

sub new {
    my ( $class, $port ) = @_;
    my $sock = IO::Socket::INET->new( PeerAddr => '127.0.0.1', PeerPort => $port, Timeout => 5 )
        or die "connect to port $port: $@\n";
    setsockopt $sock, IPPROTO_TCP, TCP_NODELAY, 1;
    return bless { sock => $sock, buf => '' }, $class;
}

sub send_get {
    my ( $self, $path ) = @_;
    my $bytes = "GET $path HTTP/1.1\r\nHost: gateway\r\n\r\n";
    my $sent  = syswrite $self->{sock}, $bytes;
    die "send: $!\n" unless defined $sent && $sent == length $bytes;
    return;
}

# Reads what is there; undef while the response is incomplete.
sub receive {
    my ($self) = @_;
    my $n = sysread $self->{sock}, $self->{buf}, 65536, length $self->{buf};
    die defined $n ? "connection closed inside a response\n" : "receive: $!\n" unless $n;
    my $response = parse( $self->{buf} ) // return;
    die "bytes behind the response\n" if $response->{length} < length $self->{buf};
    $self->{buf} = '';
    return $response;
}

sub get {
    my ( $self, $path ) = @_;
    my $response;
    $self->send_get($path);
    until ($response) {
        vec( my $ready = q(), fileno $self->{sock}, 1 ) = 1;
        select( $ready, undef, undef, 60 ) > 0 or die "no answer to $path within 60 s\n";
        $response = $self->receive;
    }
    return $response;
}

sub parse {
    my ($text) = @_;
    $text =~ /\A(HTTP\/1\.1 (\d{3}).*?\r\n)\r\n/s or return;
    my ( $head, $status ) = ( $1, $2 );
    my $at = length($head) + 2;
    if ( $head =~ /\r\nContent-Length: *(\d+)\r\n/i ) {
        return if length($text) < $at + $1;
        return { status => $status, head => $head, body => substr( $text, $at, $1 ), length => $at + $1 };
    }
    $head =~ /\r\nTransfer-Encoding: *chunked\r\n/i or die "a response without framing: $head\n";
    my $body = '';
    while ( substr( $text, $at ) =~ /\A(([0-9a-f]+)\r\n)/i ) {
        my ( $line, $size ) = ( length $1, hex $2 );
        return if length($text) < $at + $line + $size + 2;
        $body .= substr $text, $at + $line, $size;
        $at += $line + $size + 2;
        return { status => $status, head => $head, body => $body, length => $at } unless $size;
    }
    return;
}

# The one way to say that an answer is right; undef when it is.
sub wrong {
    my ( $response, $body ) = @_;
    return "status $response->{status}" if $response->{status} != 200;
    return "body '$response->{body}'"   if $response->{body} ne $body;
    return;
}

sub get_right {
    my ( $self, $path, $body ) = @_;
    my $response = $self->get($path);
    my $why      = wrong( $response, $body );
    die "$path: $why instead of 200 '$body'\n" if $why;
    return $response;
}

# Total requests over `width` connections, all busy all the time. Returns the list of failures.
sub concurrently {
    my ( $port, $path, $body, $total, $width ) = @_;
    my ( @failures, %of );
    my $unsent  = $total;
    my $waiting = IO::Select->new;
    my $start   = sub {
        my ($client) = @_;
        return $waiting->remove( $client->{sock} ) if $unsent <= 0;
        $unsent--;
        $client->send_get($path);
    };
    my @clients = map { Bench::Client->new($port) } 1 .. $width;
    for my $client (@clients) {
        $of{ $client->{sock} } = $client;
        $waiting->add( $client->{sock} );
        $start->($client);
    }
    while ( $waiting->count ) {
        my @ready = $waiting->can_read(60);
        return ( @failures, map { 'no answer within 60 s' } $waiting->handles ) unless @ready;
        for my $sock (@ready) {
            my $client = $of{$sock};
            my $why    = eval {
                my $response = $client->receive // return;
                my $wrong    = wrong( $response, $body );
                $start->($client);
                $wrong;
            } // $@;
            next unless $why;
            push @failures, $why;
            next unless $@;
            $waiting->remove($sock);    # a broken connection is replaced, the count stays exact
            $client = Bench::Client->new($port);
            $of{ $client->{sock} } = $client;
            $waiting->add( $client->{sock} );
            $start->($client);
            push @clients, $client;
        }
    }
    return @failures;
}

1;
