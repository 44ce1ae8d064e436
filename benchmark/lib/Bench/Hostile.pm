package Bench::Hostile;

# The soak against an upstream that misbehaves (benchmark/hostile): in two halves, of which the second must leave the
# worker as the first did. Every answer that was good is delivered, no byte that is wrong is, and everything ends.

use strict;
use warnings;
use Bench::Client;
use Bench::Env;
use Bench::Nginx;
use POSIX ();
use Time::HiRes qw(sleep time);

my $MEMORY_LIMIT_KIB = 2048;

# Builds and starts the upstream; it ends with this program.
my $upstream;

END {
    my $status = $?;
    if ($upstream) {
        kill KILL => $upstream;
        waitpid $upstream, 0;
    }
    $? = $status;
}

sub start_upstream {
    my ( $env, $seed ) = @_;
    # It needs nothing of the library, so it is not built with it.
    my $program = "$env->{root}/build/hostile";
    system( 'rustc', '-O', '--edition', '2024', '-o', $program, "$env->{root}/benchmark/hostile/main.rs" ) == 0
        or die "the upstream cannot be built\n";
    pipe my $in, my $out or die "pipe: $!\n";
    $upstream = fork // die "fork: $!\n";
    if ( !$upstream ) {
        open STDOUT, '>&', $out;
        exec $program, $seed or POSIX::_exit(127);
    }
    close $out;
    my $port = <$in> // die "the upstream does not start\n";
    return $port + 0;
}

sub counts {
    my ( $port, $path ) = @_;
    my $text = Bench::Client->new($port)->get($path)->{body};
    return { map { /^(.+)\s([\d.]+)$/ ? ( $1 => $2 ) : () } split /\n/, $text };
}

# The worker at rest: pooled connections have expired, what Lua no longer needs is collected.
sub at_rest {
    my ($gateway) = @_;
    my ( $fds, $same ) = ( -1, 0 );
    for ( 1 .. 400 ) {
        Bench::Client->new( $gateway->{port} )->get('/lua-bytes');
        sleep 0.05;
        my $now = $gateway->fds;
        $same = $now == $fds ? $same + 1 : 0;
        last if $same >= 60;    # thrice the time in the pool
        $fds = $now;
    }
    return { fds => $fds, rss => $gateway->rss_kib };
}

sub soak {
    my ( $env, $o ) = @_;
    my $port      = start_upstream( $env, $o->{seed} );
    my $locations = <<"CONF";
        location = /hostile { content_by_lua_block { require("hostile").run($port) } }
        location = /report { content_by_lua_block { require("hostile").report() } }
CONF
    my $gateway = Bench::Nginx->gateway( $env, { port => $port }, [ { needs => 'module' } ], locations => $locations );
    my $worker  = $gateway->{worker};
    my $fresh   = at_rest($gateway);
    my ( @rest, @bad );
    for my $half ( 1, 2 ) {
        my $start    = time;
        my $n        = int( $o->{concurrent} / 2 );
        my @failures = Bench::Client::concurrently( $gateway->{port}, '/hostile', 'right', $n, $o->{width} );
        my $seconds  = time - $start;
        push @rest, at_rest($gateway);
        my %seen;
        $seen{$_}++ for @failures;
        push @bad, map { "half $half: $seen{$_} times: $_" } sort keys %seen;
        printf "half %d: %d requests over %d connections, %.1f s: %d failures; at rest %d fds, %d KiB resident\n", $half, $n,
            $o->{width}, $seconds, scalar @failures, @{ $rest[-1] }{qw(fds rss)};
    }
    my ( $served, $seen ) = ( counts( $port, '/counts' ), counts( $gateway->{port}, '/report' ) );
    push @bad, verdicts( $served, $seen );
    push @bad, "descriptors: $fresh->{fds} before, $rest[0]{fds}, then $rest[1]{fds}" if grep { $_->{fds} != $fresh->{fds} } @rest;
    my $grown = $rest[1]{rss} - $rest[0]{rss};
    push @bad, "memory: $rest[0]{rss} KiB, then $rest[1]{rss} KiB" if $grown > $MEMORY_LIMIT_KIB;
    push @bad, 'the worker was replaced' if $gateway->only_child != $worker;
    eval { $gateway->must_be_clean; 1 } or push @bad, $@;
    die map( { s/\n*\z/\n/r } @bad ), "soak: FAILED\n" if @bad;
    print "soak: ok\n";
    return;
}

sub verdicts {
    my ( $served, $seen ) = @_;
    printf "%-40s %8s\n", 'what came of the requests', '';
    printf "  %-38s %8d\n", $_, $seen->{$_} for sort grep { /^(?:whole|error|WRONG)/ } keys %$seen;
    printf "%-40s %8s\n", 'what the upstream did', '';
    printf "  %-38s %8d\n", $_, $served->{$_} for sort keys %$served;
    printf "the longest request took %.1f s\n", $seen->{longest};
    my @bad;
    push @bad, "$seen->{WRONG} wrong bodies" if $seen->{WRONG};
    push @bad, "$seen->{running} requests do not end" if $seen->{running};
    for my $kind ( sort grep { /^good-/ } keys %$served ) {
        my $whole = $seen->{"whole $kind"} // 0;
        push @bad, "$kind: served $served->{$kind} times, delivered $whole times" if $whole != $served->{$kind};
    }
    return @bad;
}

1;
