package NhfcDns;

# A name server on the loopback: "use NhfcDns;" starts one and sets $TEST_NGINX_DNS_PORT. It ends with the test.
#
# What it answers, for any name below "test" whose first label is
#
#   a         A 127.0.0.1                         six       AAAA ::1
#   both      both of them                        deadlive  A 127.0.0.1 and 127.0.0.2
#   deadsix   AAAA 100::1 (RFC 6666: nobody) and A 127.0.0.1
#   slow      as "a", after 400 ms                silent    nothing at all
#   nx        NXDOMAIN                            empty     no records
#   fail      SERVFAIL                            lying     A records for AAAA questions, AAAA for A, and a TXT
#   cname     an alias of a.test, and its A
#
# and NXDOMAIN for any other.

use strict;
use warnings;

use IO::Select;
use IO::Socket::INET;
use POSIX ();
use Socket qw(AF_INET AF_INET6 inet_pton);
use Time::HiRes qw(time);

my ($A, $CNAME, $TXT, $AAAA) = (1, 5, 16, 28);

my %zone = (
    a        => { $A => ['127.0.0.1'] },
    slow     => { $A => ['127.0.0.1'] },
    six      => { $AAAA => ['::1'] },
    both     => { $A => ['127.0.0.1'], $AAAA => ['::1'] },
    deadlive => { $A => [ '127.0.0.1', '127.0.0.2' ] },
    deadsix  => { $A => ['127.0.0.1'], $AAAA => ['100::1'] },
    empty    => {},
    lying    => { $A => ['127.0.0.1'], $AAAA => ['::1'] },
    cname    => { $A => ['127.0.0.1'] },
);

my $pid;
my $owner = $$;

END {
    if ($pid && $$ == $owner) {
        my $status = $?;
        kill KILL => $pid;
        waitpid $pid, 0;
        $? = $status;
    }
}

sub import {
    my $socket = IO::Socket::INET->new(Proto => 'udp', LocalAddr => '127.0.0.1', LocalPort => 0) or die "udp: $@";
    $ENV{TEST_NGINX_DNS_PORT} = $socket->sockport;
    $pid = fork // die "fork: $!";
    if (!$pid) {
        $SIG{$_} = 'DEFAULT' for qw(INT TERM HUP);
        eval { serve($socket); 1 } or print {*STDERR} "name server: $@";
        POSIX::_exit(0);
    }
    return;
}

sub serve {
    my ($socket) = @_;
    my $select = IO::Select->new($socket);
    my @later;
    while (1) {
        if ($select->can_read(0.02)) {
            my $peer = $socket->recv(my $query, 4096);
            my ($answer, $delay) = answer($query);
            push @later, [ time + $delay, $peer, $answer ] if defined $answer;
        }
        exit 0 if getppid != $owner;
        my @due = grep { $_->[0] <= time } @later;
        @later = grep { $_->[0] > time } @later;
        $socket->send($_->[2], 0, $_->[1]) for @due;
    }
    return;
}

# The answer to a query and when it is due, or nothing.
sub answer {
    my ($query) = @_;
    my ($id, undef, $questions) = unpack 'n3', $query;
    my ($at, @labels) = (12);
    while ((my $length = ord substr $query, $at, 1) > 0) {
        push @labels, lc substr $query, $at + 1, $length;
        $at += 1 + $length;
    }
    my $question = substr $query, 12, $at + 5 - 12;
    my ($type) = unpack 'n', substr $query, $at + 1, 2;
    my $label  = @labels == 2 && $labels[1] eq 'test' ? $labels[0] : '';
    return if $label eq 'silent';

    my $records = $zone{$label};
    my $code = $label eq 'fail' ? 2 : $records ? 0 : 3;
    my @found = records($label, $type, $records // {});
    return (pack('n6', $id, 0x8180 | $code, 1, scalar @found, 0, 0) . $question . join('', @found), $label eq 'slow' ? 0.4 : 0);
}

sub records {
    my ($label, $type, $records) = @_;
    my $other = $type == $A ? $AAAA : $A;
    if ($label eq 'lying') {
        return (record($TXT, "\x03no."), map { record($other, $_) } @{ $records->{$other} });
    }
    my @found = map { record($type, $_) } @{ $records->{$type} // [] };
    # \xc0\x0c points at the name of the question: "cname.test"; the alias is written out.
    unshift @found, record($CNAME, "\x01a\x04test\x00") if $label eq 'cname' && @found;
    s/\A\xc0\x0c(?=\x00\x01)/\x01a\x04test\x00/ for $label eq 'cname' ? @found : ();
    return @found;
}

sub record {
    my ($type, $data) = @_;
    $data = inet_pton($type == $A ? AF_INET : AF_INET6, $data) if $type == $A || $type == $AAAA;
    return "\xc0\x0c" . pack('nnNn', $type, 1, 60, length $data) . $data;
}

1;
