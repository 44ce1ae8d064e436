package Bench::Nginx;

# One nginx of ours: configuration, start, its worker, its figures, stop. Each has a prefix of its own below
# a temporary directory and listens on a free loopback port; everything goes when the program ends.

use strict;
use warnings;
use Bench::Client;
use Bench::Contestants;
use Bench::Env;
use File::Path qw(make_path);
use File::Temp qw(tempdir);
use IO::Socket::INET;
use POSIX qw(WNOHANG);
use Time::HiRes qw(sleep time);

my $OWNER = $$;
my %RUNNING;    # pid => object
my $BASE;

$SIG{$_} = sub { exit 1 } for qw(INT TERM HUP);    # through END: nothing is left running

END {
    if ( $$ == $OWNER ) {
        my $status = $?;
        $_->stop for values %RUNNING;
        $? = $status;
    }
}

sub base {
    return $BASE //= tempdir( 'nhfc-bench-XXXXXX', TMPDIR => 1, CLEANUP => 1 );
}

sub free_port {
    my $sock = IO::Socket::INET->new( LocalAddr => '127.0.0.1', LocalPort => 0, Listen => 1 ) or die "no free port: $@\n";
    return $sock->sockport;
}

# The machine's limits must not be what is measured: connections live for as many requests as there are.
sub common {
    my ($prefix) = @_;
    my $temp = join '', map { "    ${_}_temp_path $prefix/temp;\n" } qw(client_body proxy fastcgi uwsgi scgi);
    return <<"CONF" . $temp;
    access_log off;
    default_type text/plain;
    keepalive_requests 1000000000;
    keepalive_timeout 3600s;
CONF
}

sub main_part {
    my ($prefix) = @_;
    my $user = $> == 0 ? 'user root;' : '';    # workers read Lua files wherever the checkout is
    return <<"CONF";
daemon off;
worker_processes 1;
$user
pid $prefix/nginx.pid;
error_log $prefix/error.log warn;
worker_rlimit_nofile 8192;
events { worker_connections 4096; }
CONF
}

sub upstream {
    my ( $class, $env ) = @_;
    my $self   = $class->prepare( $env, 'upstream' );
    my $prefix = $self->{prefix};
    my $common = common($prefix);
    return $self->start( $env->{load_cpu}, main_part($prefix) . <<"CONF");
http {
$common
    server {
        listen 127.0.0.1:$self->{port} backlog=1024;
        location / { return 200 "$Bench::Contestants::BODY"; }
        location = /upstream-status { stub_status; }
    }
}
CONF
}

sub location {
    my ( $contestant, $upstream ) = @_;
    my $name = $contestant->{name};
    return "location = /$name { content_by_lua_block { ngx.print(\"$Bench::Contestants::BODY\") } }\n" if $name eq 'baseline';
    return <<"CONF" if $name eq 'proxy';
location = /proxy {
    proxy_pass http://upstream/;
    proxy_http_version 1.1;
    proxy_set_header Connection "";
}
CONF
    return <<"CONF";
location = /$name {
    content_by_lua_block {
        local body, err = contestant.$name($upstream)
        if body ~= "$Bench::Contestants::BODY" then
            ngx.log(ngx.ERR, err or "wrong body")
            return ngx.exit(502)
        end
        ngx.print(body)
    }
}
CONF
}

# `load_module` lines for what is a dynamic module here; an OpenResty has Lua compiled in.
sub modules {
    my ( $env, $ours ) = @_;
    my @files = grep { -e } map { "$env->{modules}/$_" } qw(ndk_http_module.so ngx_http_lua_module.so);
    push @files, $env->{module} if $ours;
    return join '', map { "load_module $_;\n" } @files;
}

sub gateway {
    my ( $class, $env, $upstream, $contestants, %how ) = @_;
    my $self   = $class->prepare( $env, 'gateway' );
    my $prefix = $self->{prefix};
    my $common = common($prefix);
    my $port   = $upstream->{port};
    my $ours   = grep { ( $_->{needs} // '' ) eq 'module' } @$contestants;
    my $paths  = join '', map { "$_;" } grep { $_ } "$env->{root}/lua/?.lua", "$env->{root}/benchmark/lua/?.lua",
        ( $env->{resty} ? "$env->{resty}/lib/?.lua" : '' ), $env->{lua_path};
    my $require = join '', map { "contestant.$_->{name} = require \"$_->{lua}\"\n" } grep { $_->{lua} } @$contestants;
    my $locations = $how{locations} // join '', map { location( $_, $port ) } @$contestants;
    my $unlimited = $ours ? 'nhfc_keepalive_requests 0; nhfc_keepalive_time 0;' : '';
    my $master = $how{single} ? "master_process off;\n" : '';
    return $self->start( $how{single} ? undef : $env->{worker_cpu}, $how{under} // [],
        modules( $env, $ours ) . $master . main_part($prefix) . <<"CONF");
http {
$common
    lua_package_path "$paths;";
    lua_socket_log_errors off;
    $unlimited
    init_by_lua_block {
        contestant = {}
$require
    }
    upstream upstream { server 127.0.0.1:$port; keepalive 200; keepalive_requests 1000000000; }
    server {
        listen 127.0.0.1:$self->{port} backlog=1024;
$locations
        location = /up { return 200 "up"; }
        location = /lua-bytes {
            content_by_lua_block { collectgarbage() ngx.print(math.floor(collectgarbage("count") * 1024)) }
        }
    }
}
CONF
}

my $SERIAL = 0;

sub prepare {
    my ( $class, $env, $role ) = @_;
    my $prefix = base() . "/$role-" . ++$SERIAL;
    make_path("$prefix/temp");
    return bless { prefix => $prefix, role => $role, nginx => $env->{nginx}, port => free_port() }, $class;
}

sub start {
    my $self = shift;
    my ( $cpu, $conf ) = ( shift, pop );
    my @under = @{ shift // [] };
    open my $out, '>', "$self->{prefix}/nginx.conf" or die "$self->{prefix}: $!\n";
    print {$out} $conf;
    close $out or die "$self->{prefix}/nginx.conf: $!\n";
    my @command = (
        ( defined $cpu ? ( 'taskset', '-c', $cpu ) : () ), @under,
        $self->{nginx}, '-p', $self->{prefix}, '-c', "$self->{prefix}/nginx.conf", '-e', "$self->{prefix}/error.log",
    );
    my $pid = fork // die "fork: $!\n";
    if ( !$pid ) {
        open STDOUT, '>', "$self->{prefix}/output.log";
        open STDERR, '>&', \*STDOUT;
        open STDIN,  '<', '/dev/null';
        exec @command or POSIX::_exit(127);
    }
    $self->{pid} = $pid;
    $RUNNING{$pid} = $self;
    $self->wait_up;
    $self->{worker} = $conf =~ /^master_process off/m ? $pid : $self->only_child;
    return $self;
}

sub wait_up {
    my ($self) = @_;
    for ( 1 .. 600 ) {
        $self->died if waitpid( $self->{pid}, WNOHANG ) > 0;
        my $sock = IO::Socket::INET->new( PeerAddr => '127.0.0.1', PeerPort => $self->{port} );
        return if $sock;
        sleep 0.05;
    }
    die "$self->{role} nginx does not listen within 30 s\n" . $self->log_text;
}

sub died {
    my ($self) = @_;
    delete $RUNNING{ $self->{pid} };
    die "$self->{role} nginx ended at start\n" . Bench::Env::slurp("$self->{prefix}/output.log");
}

sub log_text {
    my ($self) = @_;
    return join '', map { -s $_ ? Bench::Env::slurp($_) : '' } map { "$self->{prefix}/$_.log" } qw(output error);
}

# Fails when the nginx has logged an error: a figure from such a run is no figure.
sub must_be_clean {
    my ($self) = @_;
    my @bad = grep { /\[(?:error|crit|alert|emerg)\]/ } split /\n/, $self->log_text;
    return unless @bad;
    $#bad = 9 if @bad > 10;
    die "$self->{role} nginx logged errors:\n" . join '', map { "  $_\n" } @bad;
}

sub only_child {
    my ($self) = @_;
    for ( 1 .. 100 ) {
        my @workers;
        for my $file ( glob '/proc/[0-9]*/status' ) {
            my $text = eval { Bench::Env::slurp($file) } // next;    # it may have gone meanwhile
            push @workers, $1 if $text =~ /^PPid:\s*$self->{pid}$/m && $file =~ /(\d+)/;
        }
        return $workers[0] if @workers == 1;
        sleep 0.05;
    }
    die "$self->{role} nginx has no single worker\n";
}

# Nanoseconds on a core since the worker started.
sub cpu_ns {
    my ($self) = @_;
    my ($ns) = Bench::Env::slurp("/proc/$self->{worker}/schedstat") =~ /^(\d+)/;
    return $ns;
}

sub rss_kib {
    my ($self) = @_;
    my ($kib) = Bench::Env::slurp("/proc/$self->{worker}/status") =~ /^VmRSS:\s*(\d+)/m;
    return $kib;
}

sub fds {
    my ($self) = @_;
    opendir my $dir, "/proc/$self->{worker}/fd" or die "/proc/$self->{worker}/fd: $!\n";
    return scalar grep { /^\d/ } readdir $dir;
}

# Connections accepted and requests served so far, our own control connection and its requests left out.
sub served {
    my ($self) = @_;
    my $client = $self->{control} //= do { $self->{asked} = 0; Bench::Client->new( $self->{port} ) };
    my $text = $client->get('/upstream-status')->{body};
    $self->{asked}++;
    my ( $accepted, $requests ) = $text =~ /^\s*(\d+) \d+ (\d+)/m or die "stub_status: $text\n";
    return { accepted => $accepted, requests => $requests - $self->{asked} };
}

sub stop {
    my ($self) = @_;
    my $pid = $self->{pid};
    return unless delete $RUNNING{$pid};
    for my $signal (qw(TERM KILL)) {
        kill $signal, $pid;
        for ( 1 .. 100 ) {
            return if waitpid( $pid, WNOHANG ) != 0;
            sleep 0.05;
        }
    }
    return;
}

1;
