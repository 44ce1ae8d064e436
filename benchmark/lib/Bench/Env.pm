package Bench::Env;

# Where things are on this machine, and which cores are ours to use.

use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);

my $ROOT = abs_path( dirname(__FILE__) . '/../../..' );

# What the build recorded in build/env.sh wins over the distribution's own places.
sub recorded {
    my $file = "$ROOT/build/env.sh";
    return {} unless -e $file;
    open my $out, '-|', 'sh', '-c', 'set -a; . "$1" >/dev/null; exec env', 'sh', $file or die "sh: $!\n";
    my %vars = map { chomp; /^(\w+)=(.*)$/ ? ( $1 => $2 ) : () } <$out>;
    close $out or die "build/env.sh cannot be read by sh\n";
    return \%vars;
}

sub find {
    my $vars = recorded();
    my $env = {
        root     => $ROOT,
        nginx    => $vars->{NGINX_BINARY} || '/usr/sbin/nginx',
        modules  => $vars->{NGINX_MODULES_DIR} || '/usr/lib/nginx/modules',
        lua_path => $vars->{NGINX_LUA_PATH} || '',
        module   => "$ROOT/build/ngx_http_ffi_client_module.so",
    };
    die "no nginx at $env->{nginx}: run `make run` once, it installs what is missing\n" unless -x $env->{nginx};
    if ( my $dir = $ENV{RESTY_HTTP_DIR} ) {
        $dir = abs_path($dir) // die "RESTY_HTTP_DIR: no such directory\n";
        die "RESTY_HTTP_DIR has no lib/resty/http.lua\n" unless -e "$dir/lib/resty/http.lua";
        $env->{resty} = $dir;
    }
    @$env{qw(worker_cpu load_cpu)} = cpus();
    return $env;
}

sub need_tools {
    for my $tool (@_) {
        next if grep { -x "$_/$tool" } split /:/, $ENV{PATH};
        die "$tool is not installed (Debian package: "
            . ( { taskset => 'util-linux', callgrind_control => 'valgrind' }->{$tool} // $tool ) . ")\n";
    }
    return;
}

# The worker has a core of its own; the load generator and the upstream share the other.
sub cpus {
    my ($list) = slurp('/proc/self/status') =~ /^Cpus_allowed_list:\s*(\S+)/m;
    my @cpus = map { /^(\d+)-(\d+)$/ ? ( $1 .. $2 ) : $_ } split /,/, $list // '0';
    warn "only one core: the load generator takes time from the worker, figures are worth little\n" if @cpus < 2;
    return ( $cpus[0], $cpus[1] // $cpus[0] );
}

sub slurp {
    my ($file) = @_;
    open my $in, '<', $file or die "$file: $!\n";
    local $/;
    my $text = <$in>;
    return $text;
}

# What a reader needs to know to compare a result with another.
sub describe {
    my ($env) = @_;
    my $version = qx('$env->{nginx}' -v 2>&1);
    my ($nginx)  = $version =~ m{version:\s*(\S+)};
    my ($cpu)    = slurp('/proc/cpuinfo') =~ /^model name\s*:\s*(.+)$/m;
    my ($kernel) = slurp('/proc/sys/kernel/osrelease') =~ /^([\d.]+)/;
    my ($commit) = qx(git -C '$ROOT' rev-parse --short HEAD 2>/dev/null) =~ /^(\w+)$/;
    return { nginx => $nginx, cpu => $cpu // 'unknown', kernel => $kernel, commit => $commit };
}

1;
