package Bench::Callgrind;

# User instructions per request of a gateway that runs alone under callgrind. A process of its own for each
# count: LuaJIT's decisions of one contestant must not help or harm the next.

use strict;
use warnings;
use Bench::Client;
use Bench::Contestants;
use Bench::Nginx;
use Time::HiRes qw(sleep);

sub control {
    my ( $vgdb, $pid, $what ) = @_;
    my $text = qx(callgrind_control --vgdb-prefix='$vgdb' $what $pid 2>&1);
    die "callgrind_control $what:\n$text" if $? || $text !~ /\bOK\b/;
    return;
}

sub total {
    my ($file) = @_;
    for ( 1 .. 100 ) {
        return $1 if -e $file && Bench::Env::slurp($file) =~ /^totals: (\d+)/m;
        sleep 0.05;
    }
    die "callgrind wrote no totals\n";
}

# Everything goes over one client connection that exists before the counters are zeroed, so that the dump
# holds N times the request and nothing else.
sub count {
    my ( $env, $upstream, $contestant, $warm, $n ) = @_;
    my $name  = $contestant->{name};
    my $vgdb  = Bench::Nginx::base() . '/vgdb';
    my $out   = Bench::Nginx::base() . "/callgrind-$name-$$-" . time . rand;
    my @under = ( 'valgrind', '-q', '--tool=callgrind', "--vgdb-prefix=$vgdb", "--callgrind-out-file=$out" );
    my $gateway = Bench::Nginx->gateway( $env, $upstream, [$contestant], single => 1, under => \@under );
    my $client = Bench::Client->new( $gateway->{port} );
    my $ask    = sub { $client->get_right( "/$name", $Bench::Contestants::BODY ) for 1 .. $_[0] };
    $ask->($warm);
    my $before = $upstream->served;
    control( $vgdb, $gateway->{pid}, '-z' );
    $ask->($n);
    control( $vgdb, $gateway->{pid}, '-d' );
    my $after = $upstream->served;
    my $made  = $after->{requests} - $before->{requests};
    die "$name: $made requests upstream for $n\n" if $made != ( $name eq 'baseline' ? 0 : $n );
    die "$name: a new upstream connection while counting\n" if $after->{accepted} != $before->{accepted};
    $gateway->must_be_clean;
    $gateway->stop;
    my $total = total("$out.1");
    return { kind => 'instructions', contestant => $name, requests => $n, instructions => $total, value => $total / $n };
}

1;
