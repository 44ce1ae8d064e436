package Test::Nginx::Runner::Settings;

# What the environment and a test file may choose, and the helpers that every part of the runner shares.

use strict;
use warnings;

use Exporter 'import';
use File::Spec ();
use IO::Socket::INET ();
use Test::More ();

our @EXPORT_OK = qw(%settings bail_out expand free_port seconds section);

our %settings = (
    binary             => $ENV{TEST_NGINX_BINARY} || '/usr/sbin/nginx',
    load_modules       => $ENV{TEST_NGINX_LOAD_MODULES} // '',
    log_level          => $ENV{TEST_NGINX_LOG_LEVEL} || 'debug',
    master             => $ENV{TEST_NGINX_MASTER_PROCESS} || 'off',
    no_shuffle         => $ENV{TEST_NGINX_NO_SHUFFLE} || 0,
    accum_error_log    => $ENV{TEST_NGINX_CHECK_ACCUM_ERR_LOG} || 0,
    timeout            => $ENV{TEST_NGINX_TIMEOUT} || 3,
    sleep              => $ENV{TEST_NGINX_SLEEP} || 0.015,
    event_type         => $ENV{TEST_NGINX_EVENT_TYPE},
    server_addr        => '127.0.0.1',
    server_name        => 'localhost',
    workers            => 1,
    worker_connections => 64,
    repeat_each        => 1,
    root_location      => 1,
    long_string        => 1,
    preamble           => '',
    env                => [],
);

my $port = $ENV{TEST_NGINX_PORT} || 1984;
$settings{server_port} = $ENV{TEST_NGINX_SERVER_PORT} || $port;
$settings{client_port} = $ENV{TEST_NGINX_CLIENT_PORT} || $settings{server_port};
$settings{servroot} = $ENV{TEST_NGINX_SERVROOT} || File::Spec->rel2abs('t/servroot');

# Parallel jobs (prove -j) need a port and a server root each.
if ($ENV{TEST_NGINX_RANDOMIZE}) {
    $settings{server_port} = $settings{client_port} = free_port({});
    $settings{servroot} = File::Spec->rel2abs("t/servroot_$settings{server_port}");
}
$ENV{TEST_NGINX_SERVER_ROOT} = $settings{servroot};

# Ends the whole test session. The END block of Test::Nginx::Socket stops what still runs.
sub bail_out {
    Test::More::BAIL_OUT(join '', @_);
}

# A section's value: one scalar, also where the accessor is called in a list.
sub section {
    my ($case, $name) = @_;
    return scalar $case->{block}->$name;
}

# Ports stay below the range the kernel hands out for outgoing connections, so that nothing takes the
# port between this probe and the bind that it is for.
sub free_port {
    my ($taken) = @_;
    for (1 .. 500) {
        my $candidate = 10_000 + int rand 20_000;
        next if $taken->{$candidate};
        my $probe = IO::Socket::INET->new(
            LocalAddr => '127.0.0.1',
            LocalPort => $candidate,
            Proto     => 'tcp',
            Listen    => 1,
            ReuseAddr => 1,
        );
        return $candidate if $probe;
    }
    return bail_out('no free port on 127.0.0.1');
}

# Replaces $TEST_NGINX_*: random ports are chosen once per block, all else comes from the environment.
sub expand {
    my ($text, $case) = @_;
    return $text if !defined $text || ref $text;
    $text =~ s/\$(TEST_NGINX_[_A-Z0-9]+)/ variable($1, $case) /eg;
    return $text;
}

sub variable {
    my ($name, $case) = @_;
    if ($name =~ /\ATEST_NGINX_RAND_PORT_[0-9]+\z/) {
        my $ports = $case->{ports};
        my %taken = map { $_ => 1 } $settings{server_port}, values %$ports;
        return $ports->{$name} //= free_port(\%taken);
    }
    return $ENV{$name} // bail_out("$case->{name} - \$$name is not set in the environment");
}

# "50ms", "2s" or "2" in seconds.
sub seconds {
    my ($text) = @_;
    return undef if !defined $text;
    return $1 / 1000 if $text =~ /\A\s*([0-9.]+)\s*ms\s*\z/;
    return $1        if $text =~ /\A\s*([0-9.]+)\s*s?\s*\z/;
    return bail_out("not a time: \"$text\"");
}

1;
