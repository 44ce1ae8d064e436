package Test::Nginx::Runner::Client;

# Sends the packets of a request and reads until nginx closes; takes the responses apart.

use strict;
use warnings;

use Errno qw(EAGAIN EINTR);
use HTTP::Response ();
use IO::Select ();
use IO::Socket::INET ();
use Test::More ();
use Time::HiRes qw(sleep time);

use Test::Nginx::Runner::Settings qw(%settings section seconds);

# A response that never stays silent for as long as the timeout still has to end some time.
use constant HARD_LIMIT => 120;

# Everything that came back. The timeout is for silence, not for the whole exchange.
sub exchange {
    my ($case, $packets) = @_;
    my $silence = seconds(section($case, 'timeout')) // $settings{timeout};
    my $socket = dial($case, $silence) // return '';
    local $SIG{PIPE} = 'IGNORE';
    my $limit = time + HARD_LIMIT;
    my @queue = @$packets;
    my $sending = { bytes => (shift @queue)->{value}, socket => $socket, queue => \@queue, case => $case };
    my $response = '';
    my $reader = IO::Select->new($socket);
    while (1) {
        my $writer = defined $sending->{bytes} ? $reader : undef;
        $! = 0;
        my ($readable, $writable) = IO::Select->select($reader, $writer, undef, $silence);
        if (!$readable || time > $limit) {
            next if !$readable && $! == EINTR;
            timed_out($case);
            last;
        }
        if (@$readable) {
            my $got = sysread $socket, $response, 65_536, length $response;
            if (!defined $got) {
                next if $! == EAGAIN || $! == EINTR;
                warn "WARNING: $case->{name} - reading the response: $!\n";
            }
            last if !$got;
        }
        send_some($sending) if @$writable;
    }
    close $socket;
    return $response;
}

sub timed_out {
    my ($case) = @_;
    return sleep 0.005 if defined section($case, 'abort');
    return Test::More::fail("ERROR: client socket timed out - $case->{name}");
}

# nginx listens before its command returns, so a refused connection is final.
sub dial {
    my ($case, $timeout) = @_;
    my $socket = IO::Socket::INET->new(
        PeerAddr => $settings{server_addr},
        PeerPort => $settings{client_port},
        Proto    => 'tcp',
        Timeout  => $timeout,
    );
    if (!$socket) {
        Test::More::fail("$case->{name} - cannot connect to $settings{server_addr}:$settings{client_port}: $!");
        return undef;
    }
    $socket->blocking(0);
    return $socket;
}

# Once all is sent, or cannot be sent any more, bytes is undefined.
sub send_some {
    my ($sending) = @_;
    my $sent = syswrite $sending->{socket}, $sending->{bytes};
    if (!defined $sent) {
        return if $! == EAGAIN || $! == EINTR;
        warn "WARNING: $sending->{case}{name} - sending the request: $!\n";
        undef $sending->{bytes};
        return;
    }
    substr $sending->{bytes}, 0, $sent, '';
    return if length $sending->{bytes};

    my $next = shift @{ $sending->{queue} };
    if ($next) {
        sleep($next->{delay_before} // seconds(section($sending->{case}, 'raw_request_middle_delay')) // 0);
        $sending->{bytes} = $next->{value};
        return;
    }
    undef $sending->{bytes};
    my $side = section($sending->{case}, 'shutdown');
    shutdown $sending->{socket}, ($side eq '' ? 1 : $side) if defined $side;
    return;
}

# The first response in the bytes: (HTTP::Response, raw head, bytes after it). The object is undefined when
# the body's framing is broken, which is a failure by itself.
sub parse {
    my ($case, $bytes, $is_head) = @_;
    my $head = $bytes =~ /\A(.*?\r\n)\r\n/s ? $1 : '';
    my $response = HTTP::Response->parse($bytes);
    my $code = $response->code // '';
    $response->code(undef) if $code !~ /\A\d+\z/;
    return ($response, $head, undef) if $code eq '304' || $code eq '101';

    my $content = $response->content // '';
    my $length = $response->header('Content-Length');
    if (($response->header('Transfer-Encoding') // '') eq 'chunked') {
        my ($body, $left) = dechunk($response, $content);
        if (!defined $body) {
            Test::More::fail("$case->{name} - invalid chunked body: $left");
            return (undef, $head, undef);
        }
        $response->content($body);
        return ($response, $head, $left);
    }
    if (defined $length && $length =~ /\A\d+\z/) {
        if (length $content < $length) {
            warn "WARNING: $case->{name} - body of $length bytes truncated to ", length $content, "\n" if !$is_head;
            return ($response, $head, undef);
        }
        $response->content(substr $content, 0, $length);
        return ($response, $head, substr $content, $length);
    }
    return ($response, $head, undef);
}

# (body, bytes behind it), or (undef, what is wrong).
sub dechunk {
    my ($response, $raw) = @_;
    my $body = '';
    while ($raw =~ /\G[ \t]*([0-9A-Fa-f]+)[ \t]*\r\n/gc) {
        my $size = hex $1;
        my $at = pos $raw;
        if ($size == 0) {
            for my $name (map { split /\s*,\s*/ } $response->header('Trailer')) {
                return (undef, "no trailer $name") if $raw !~ /\G\Q$name\E:[^\n]*\r\n/gci;
            }
            return (undef, 'no empty line at the end') if $raw !~ /\G\r\n/gc;
            return ($body, substr $raw, pos $raw);
        }
        return (undef, 'not enough data for a chunk') if length $raw < $at + $size + 2;
        $body .= substr $raw, $at, $size;
        pos($raw) = $at + $size;
        return (undef, 'no line end after a chunk') if $raw !~ /\G\r\n/gc;
    }
    my $rest = substr $raw, pos($raw) // 0;
    return (undef, $rest eq '' ? 'no last chunk' : "no chunk size in \"$rest\"");
}

1;
