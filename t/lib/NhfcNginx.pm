package NhfcNginx;

# An nginx with our module for the scripted tests beside prove. Which nginx and which modules, tools/prove says in
# TEST_NGINX_BINARY and TEST_NGINX_LOAD_MODULES. Everything is below a temporary directory and on free loopback
# ports, and what was started ends with the test.
#
#     my $nginx = NhfcNginx->start(server => $locations, http => ..., main => ..., master => 'off', ...);
#     my $answer = $nginx->get('/path');                # { status, body, complete }
#
# No test asserts a time: eventually() waits for a fact, and only a fact that does not come within 10 s fails.

use strict;
use warnings;

use Cwd qw(abs_path);
use Exporter 'import';
use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use IO::Select;
use IO::Socket::INET;
use POSIX qw(WNOHANG);
use Time::HiRes qw(sleep time);

our @EXPORT_OK = qw(eventually alive read_answer send_request);

my $root = abs_path(dirname(__FILE__) . '/../..');
my $owner = $$;
my $instances = 0;
my $in_vain = 0;
my $patience = $ENV{TEST_NGINX_USE_VALGRIND} ? 12 : 1;
my ($base, %running);

$SIG{$_} = sub { exit 1 } for qw(INT TERM HUP);    # by way of END

END {
    if ($$ == $owner) {
        my $status = $?;
        $_->kill_all for values %running;
        $? = $status;
    }
}

# Waits until the condition holds and returns what it said last. Where waiting was in vain a few times already, the
# test has failed, and is not made to take minutes.
sub eventually(&) {
    my ($condition) = @_;
    my $limit = time + ($in_vain > 3 ? 1 : 10) * $patience;
    my $pause = 0.002;
    while (1) {
        my $value = $condition->();
        return $value if $value;
        if (time > $limit) {
            $in_vain++;
            return $value;
        }
        sleep $pause;
        $pause *= 1.3 if $pause < 0.03;
    }
}

# ---- configuration

sub binary  { return $ENV{TEST_NGINX_BINARY} || '/usr/sbin/nginx' }
sub modules { return split ' ', $ENV{TEST_NGINX_LOAD_MODULES} // '' }

sub free_port {
    for (1 .. 500) {
        my $port = 10_000 + int rand 20_000;
        return $port if IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $port, Listen => 1, ReuseAddr => 1);
    }
    die "no free port on 127.0.0.1\n";
}

sub prepare {
    my ($class, %o) = @_;
    $base //= tempdir('nhfc-XXXXXX', TMPDIR => 1, CLEANUP => 1);
    my $dir = "$base/" . ++$instances;
    mkdir $_ or die "$_: $!" for $dir, "$dir/temp";
    my $self = bless { dir => $dir, port => free_port(), master => $o{master} // 'on' }, $class;
    $self->write_config(%o);
    return $self;
}

sub write_config {
    my ($self, %o) = @_;
    my ($dir, $port) = @$self{qw(dir port)};
    my $load = join '', map { "load_module $_;\n" } @{ $o{modules} // [modules()] };
    my $user = $> == 0 ? 'user root;' : '';    # workers read Lua files wherever the checkout is
    my $temp = join '', map { "    ${_}_temp_path $dir/temp;\n" } qw(client_body proxy fastcgi uwsgi scgi);
    my $lua = $o{no_lua} ? '' : qq(lua_package_path "$root/lua/?.lua;$root/t/lib/?.lua;/usr/share/lua/5.1/?.lua;;";)
        . ' lua_shared_dict cues 4m; lua_socket_log_errors off;';
    my ($main, $http, $server, $events) = map { $_ // '' } @o{qw(main http server events)};
    my $connections = $o{worker_connections} // 1024;
    $events ||= $ENV{TEST_NGINX_EVENT_TYPE} ? "use $ENV{TEST_NGINX_EVENT_TYPE};" : '';
    open my $out, '>', "$dir/nginx.conf" or die "$dir/nginx.conf: $!";
    print {$out} <<"CONF" or die "$dir/nginx.conf: $!";
${load}daemon off;
master_process $self->{master};
worker_processes 1;
pid $dir/nginx.pid;
error_log $dir/error.log notice;
$user
$main
events { worker_connections $connections; accept_mutex off; $events }
http {
    log_format brief '\$arg_id \$status \$body_bytes_sent';
    access_log $dir/access.log brief;
    default_type text/plain;
    keepalive_requests 100000;
$temp
    $lua
$http
    server {
        listen 127.0.0.1:$port backlog=1024;
        location = /up { return 200 "up"; }
$server
    }
}
CONF
    close $out or die "$dir/nginx.conf: $!";
    return;
}

sub command {
    my ($self) = @_;
    return (binary(), '-p', $self->{dir}, '-c', "$self->{dir}/nginx.conf", '-e', "$self->{dir}/error.log");
}

# What "nginx -t" says to a configuration: its exit status and its output.
sub check {
    my ($class, %o) = @_;
    my $self = $class->prepare(%o);
    open my $pipe, '-|', 'sh', '-c', 'exec "$@" 2>&1', 'sh', $self->command, '-t' or die "sh: $!";
    local $/;
    my $output = <$pipe> // '';
    close $pipe;
    return ($? >> 8, $output);
}

# ---- life

sub start {
    my ($class, %o) = @_;
    for my $try (1 .. 5) {
        my $self = $class->prepare(%o);
        $self->launch;
        return $self if eventually { $self->is_up || $self->ended } and $self->is_up;
        my $log = $self->log;
        $self->kill_all;
        die "nginx does not start:\n$log" if $log !~ /Address already in use/;
    }
    die "nginx finds no port\n";
}

sub launch {
    my ($self) = @_;
    my $pid = fork // die "fork: $!";
    if (!$pid) {
        setpgrp 0, 0;    # so that workers whose master is gone can be found
        $SIG{$_} = 'DEFAULT' for qw(INT TERM HUP);
        open STDIN,  '<', '/dev/null';
        open STDOUT, '>', "$self->{dir}/output";
        open STDERR, '>&', \*STDOUT;
        exec { binary() } $self->command or POSIX::_exit(127);
    }
    setpgrp $pid, $pid;    # whichever of the two is first
    $self->{pid} = $pid;
    $running{$pid} = $self;
    return;
}

sub is_up {
    my ($self) = @_;
    return !!IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $self->{port});
}

# The wait status once the first process has ended.
sub ended {
    my ($self) = @_;
    if (!defined $self->{status} && waitpid($self->{pid}, WNOHANG) == $self->{pid}) {
        $self->{status} = $?;
    }
    return defined $self->{status};
}

sub signal {
    my ($self, $signal) = @_;
    kill $signal => $self->{pid} or die "kill: $!";
    return;
}

# Asks for a graceful end and waits for it. True when everything ended by itself with status 0.
sub quit {
    my ($self) = @_;
    $self->signal('QUIT') if !$self->ended;
    my $clean = eventually { $self->ended } && $self->{status} == 0;
    $self->kill_all;
    return $clean;
}

sub kill_all {
    my ($self) = @_;
    kill KILL => -$self->{pid};
    if (!defined $self->{status}) {
        waitpid $self->{pid}, 0;
        $self->{status} = $?;
    }
    delete $running{ $self->{pid} };
    return;
}

# A process that nobody has reaped yet has ended all the same.
sub alive {
    my ($pid) = @_;
    my $stat = slurp("/proc/$pid/stat");
    return $stat =~ /\)\s+[^ZX\s]\s/;
}

# The worker processes, those that are leaving included; without a master the process itself.
sub workers {
    my ($self) = @_;
    return $self->{pid} if $self->{master} eq 'off';
    return map { slurp($_) =~ /\A(\d+) .*\) ([^ZX]) $self->{pid} / ? $1 : () } glob '/proc/[0-9]*/stat';
}

# The one worker. Waits for it: the first request may be answered before this process can see it.
sub worker {
    my ($self) = @_;
    my @workers;
    eventually { @workers = $self->workers; @workers == 1 };
    die 'there are ' . @workers . " workers\n" if @workers != 1;
    return $workers[0];
}

# Makes nginx read its configuration again, and waits for the new worker. Returns it.
sub reload {
    my ($self) = @_;
    my %old = map { $_ => 1 } $self->workers;
    $self->signal('HUP');
    my $new;
    eventually { ($new) = grep { !$old{$_} } $self->workers };
    # From here on the old one does not listen any more.
    eventually { !grep { alive($_) && slurp("/proc/$_/cmdline") !~ /shutting down/ } keys %old };
    return $new // die "no new worker\n";
}

# ---- what can be seen from outside

sub slurp {
    my ($file) = @_;
    open my $in, '<', $file or return '';
    local $/;
    return scalar(<$in>) // '';
}

sub log        { my ($self) = @_; return slurp("$self->{dir}/error.log") . slurp("$self->{dir}/output") }
sub access_log { my ($self) = @_; return slurp("$self->{dir}/access.log") }

sub logged {
    my ($self, $pattern) = @_;
    return scalar grep { $_ =~ $pattern } split /\n/, $self->log;
}

# Lines that no test may leave behind, unless they match what the test is about.
sub complaints {
    my ($self, $but) = @_;
    return [grep { /\[(?:alert|crit|emerg)\]|exited on signal/ && !($but && $_ =~ $but) } split /\n/, $self->log];
}

sub fds {
    my ($self, $pid) = @_;
    opendir my $dir, '/proc/' . ($pid // $self->worker) . '/fd' or return 0;
    return scalar grep { /^\d/ } readdir $dir;
}

# The worker's sockets to a port on this machine: for each its state (1 established, 2 connecting, ...) and how many
# bytes wait to be received.
sub sockets_to {
    my ($self, $port, $pid) = @_;
    $pid //= $self->worker;
    my %mine = map { (readlink($_) // '') =~ /^socket:\[(\d+)\]/ ? ($1 => 1) : () } glob "/proc/$pid/fd/*";
    my $hex = sprintf '%04X', $port;
    return map {
        /^\s*\d+: \S+ \S+:$hex (\S\S) \S+:(\S+) \S+ \S+\s+\S+\s+\S+ (\d+)/ && $mine{$3} ? [hex $1, hex $2] : ()
    } split /\n/, slurp('/proc/net/tcp');
}

# Waits until the worker has received everything that came from that port.
sub drained {
    my ($self, $port, $pid) = @_;
    return eventually { !grep { $_->[1] } $self->sockets_to($port, $pid) };
}

# ---- a client

# A request on a connection of its own; the answer is for read_answer, or the caller closes the socket.
sub send_request {
    my ($self, $path) = @_;
    my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $self->{port}) or return undef;
    print {$socket} "GET $path HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n";
    $socket->flush;
    return $socket;
}

# Everything up to the end of the connection. "complete" says whether the message had ended by then.
sub read_answer {
    my ($socket, $seconds) = @_;
    my ($text, $limit, $closed) = ('', time + ($seconds // 15) * $patience, 0);
    my $select = IO::Select->new($socket);
    while (!$closed && time < $limit && $select->can_read($limit - time)) {
        my $n = sysread $socket, $text, 65536, length $text;
        $closed = !$n;
    }
    my ($status, $head, $body) = $text =~ m{\AHTTP/1\.[01] (\d+)(.*?)\r\n\r\n(.*)\z}s or return { status => 0, body => '', complete => 0 };
    my $complete = $closed;
    if ($head =~ /^transfer-encoding: *chunked/mi) {
        (my $plain, $complete) = ('', 0);
        while ($body =~ s/\A([0-9a-f]+)\r\n//i) {
            my $n = hex $1;
            $complete = 1, last if $n == 0;
            last if length $body < $n + 2;
            $plain .= substr $body, 0, $n;
            substr $body, 0, $n + 2, '';
        }
        $body = $plain;
    } elsif ($head =~ /^content-length: *(\d+)/mi) {
        $complete = length $body == $1;
    }
    return { status => $status, body => $body, complete => $complete };
}

sub get {
    my ($self, $path) = @_;
    my $socket = $self->send_request($path) or return { status => 0, body => '', complete => 0 };
    return read_answer($socket);
}

1;
