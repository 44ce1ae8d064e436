package Bench::Contestants;

# Who is measured. Each contestant is one location of the gateway; those in Lua are a file of benchmark/lua
# that returns a function (port) -> body | nil, err.

use strict;
use warnings;

our $BODY = 'hello';    # what the upstream sends and every location must answer

my @ALL = (
    { name => 'baseline', label => 'baseline: prints 5 constant bytes' },
    { name => 'oneshot', label => 'ours, one-shot `request_uri{}`', lua => 'oneshot', needs => 'module' },
    { name => 'object', label => 'ours, object of `new()`', lua => 'object', needs => 'module' },
    { name => 'proxy', label => '`proxy_pass` with upstream keepalive' },
    { name => 'raw', label => 'hand-written cosocket client', lua => 'raw_cosocket' },
    { name => 'resty', label => 'lua-resty-http `request_uri`', lua => 'resty_http', needs => 'resty' },
);

sub all { return @ALL }

sub by_name {
    my ($name) = @_;
    my ($found) = grep { $_->{name} eq $name } @ALL;
    return $found;
}

# Why a contestant cannot run here, or undef when it can.
sub missing {
    my ( $contestant, $env ) = @_;
    my $needs = $contestant->{needs} // return;
    if ( $needs eq 'module' ) {
        return -e $env->{module} ? undef : 'build/ngx_http_ffi_client_module.so is absent: run `make module`';
    }
    return 'RESTY_HTTP_DIR does not name a lua-resty-http checkout' unless $env->{resty};
    return;
}

1;
