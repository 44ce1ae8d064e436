package Bench::Load;

# One timed sample: wrk for some seconds against one location, the worker's CPU time around it, and the
# proof that every answer was the right one.

use strict;
use warnings;
use Bench::Contestants;
use JSON::PP qw(decode_json);
use Time::HiRes qw(sleep);

sub wrk {
    my ( $env, $url, $connections, $seconds ) = @_;
    my @command = (
        'taskset', '-c', $env->{load_cpu}, 'wrk', '-t1', "-c$connections", "-d${seconds}s", '--timeout', '10s',
        '-s', "$env->{root}/benchmark/lua/wrk.lua", $url,
    );
    open my $out, '-|', @command or die "wrk: $!\n";
    my $text = do { local $/; <$out> };
    close $out or die "wrk failed:\n$text";
    my ($line) = $text =~ /^totals (.*)$/m or die "wrk printed no totals:\n$text";
    return decode_json($line);
}

# wrk counts statuses above 399 only and looks at no body. So the Lua locations compare each body themselves and
# answer 502 for a wrong one, every location is asked before and after, and the byte total must fit the count.
sub check_totals {
    my ( $what, $totals, $length, $connections ) = @_;
    my @bad = grep { $totals->{$_} } qw(connect read write timeout status);
    die "$what: " . join( ', ', map { "$totals->{$_} $_ errors" } @bad ) . "\n" if @bad;
    die "$what: no request finished\n" unless $totals->{requests};
    my $least = $totals->{requests} * $length;
    my $most  = ( $totals->{requests} + $connections ) * $length;
    die "$what: $totals->{bytes} bytes in $totals->{requests} responses of $length bytes each: some answer was wrong\n"
        if $totals->{bytes} < $least || $totals->{bytes} > $most;
    return;
}

# Each request must have made one request upstream, over connections that are kept.
sub check_upstream {
    my ( $what, $name, $requests, $made, $accepted, $connections ) = @_;
    my ( $least, $most ) = $name eq 'baseline' ? ( 0, 0 ) : ( $requests, $requests + $connections );
    die "$what: the upstream served $made requests for $requests of the gateway's\n" if $made < $least || $made > $most;
    die "$what: the upstream accepted $accepted connections: keepalive does not work\n" if $accepted > $connections;
    return;
}

sub sample {
    my ( $env, $upstream, $gateway, $name, $connections, $seconds ) = @_;
    my $what   = "$name, $connections connections";
    my $client = Bench::Client->new( $gateway->{port} );
    my $length = $client->get_right( "/$name", $Bench::Contestants::BODY )->{length};
    my $before = $upstream->served;
    my $cpu    = $gateway->cpu_ns;
    my $totals = wrk( $env, "http://127.0.0.1:$gateway->{port}/$name", $connections, $seconds );
    $cpu = $gateway->cpu_ns - $cpu;
    sleep 0.05;    # what was in flight when wrk left
    my $after    = $upstream->served;
    my $accepted = $after->{accepted} - $before->{accepted};
    check_totals( $what, $totals, $length, $connections );
    check_upstream( $what, $name, $totals->{requests}, $after->{requests} - $before->{requests}, $accepted, $connections );
    $client->get_right( "/$name", $Bench::Contestants::BODY );
    $gateway->must_be_clean;
    return {
        kind => 'cpu', contestant => $name, connections => $connections,
        requests => $totals->{requests}, cpu_ns => $cpu, wall_us => $totals->{duration_us},
        value => $cpu / 1000 / $totals->{requests}, busy => $cpu / 1000 / $totals->{duration_us},
        upstream_accepted => $accepted,
    };
}

1;
