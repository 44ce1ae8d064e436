package Test::Nginx::Runner::Server;

# The nginx under test: its directory, its configuration, its life.

use strict;
use warnings;

use File::Path qw(make_path remove_tree);
use POSIX ();
use Test::More ();
use Time::HiRes qw(sleep time);
use version;

use Test::Nginx::Runner::Settings qw(%settings bail_out expand section);

my $root       = $settings{servroot};
my $conf_file  = "$root/conf/nginx.conf";
my $pid_file   = "$root/logs/nginx.pid";
my $start_file = "$root/logs/start.log";
my $daemon;    # pid of the nginx that was started and not yet stopped
my $version_text;

sub error_log_file { return "$root/logs/error.log" }
sub html_dir       { return "$root/html" }
sub is_up          { return defined $daemon }

sub version_text {
    if (!defined $version_text) {
        $version_text = qx{"$settings{binary}" -V 2>&1};
        bail_out("cannot run \"$settings{binary} -V\"") if $? != 0 || !defined $version_text;
    }
    return $version_text;
}

sub nginx_version {
    return version_text() =~ m{\bversion: \S+/(\d+\.\d+\.\d+)} ? $1 : bail_out('no version in the output of nginx -V');
}

# Only what nginx or this runner made there is removed: a mistyped server root must not cost anyone data.
sub make_root {
    remove_tree(map({ "$root/$_" } qw(conf logs html cache)), glob("$root/*_temp"), glob("$root/*_cache"));
    make_path("$root/conf", "$root/logs", html_dir());
    write_file(html_dir() . '/index.html', "<html><head><title>It works!</title></head><body>It works!</body></html>\n");
    return;
}

sub write_file {
    my ($path, $content) = @_;
    open my $out, '>:raw', $path or bail_out("cannot write $path: $!");
    print {$out} $content;
    close $out or bail_out("cannot write $path: $!");
    return;
}

# ">>> name" lines part the text into files; an array has [name => content] pairs.
sub write_user_files {
    my ($case) = @_;
    my $files = section($case, 'user_files') // return;
    if (!ref $files) {
        my @parts = split /^>>> +(\S+)[ \t]*\n/m, $files;
        bail_out("$case->{name} - user_files must begin with a \">>> name\" line") if $parts[0] =~ /\S/;
        shift @parts;
        $files = [];
        push @$files, [splice @parts, 0, 2] while @parts;
    }
    for my $file (@$files) {
        my ($path, $content, $date) = @$file;
        bail_out("$case->{name} - user_files: a date is not supported") if defined $date;
        $path = html_dir() . "/$path" if $path !~ m{\A/};
        make_path($1) if $path =~ m{\A(.+)/};
        write_file($path, expand($content // '', $case));
    }
    return;
}

sub write_config {
    my ($case, $config) = @_;
    my $http = expand(section($case, 'http_config') // '', $case);
    my $main = expand(section($case, 'main_config') // '', $case);
    my $level = section($case, 'log_level') || $settings{log_level};
    my $name = section($case, 'server_name') // $settings{server_name};
    my $temp_paths = join "\n    ", temp_paths($http);
    my $modules = join "\n", map { "load_module $_;" } split ' ', $settings{load_modules};
    my $env = join "\n", map { /\s/ ? "env '$_';" : "env $_;" } qw(LD_PRELOAD LD_LIBRARY_PATH ASAN_OPTIONS),
        @{ $settings{env} };
    my $user = $> == 0 ? 'user ' . ($ENV{TEST_NGINX_WORKER_USER} // 'root') . ';' : '';
    my $use = $settings{event_type} ? "use $settings{event_type};" : '';
    my $fallback = $settings{root_location}
        ? 'location / { root ' . html_dir() . '; index index.html index.htm; }'
        : '';

    write_file($conf_file, <<"CONF");
daemon on;
master_process $settings{master};
worker_processes $settings{workers};
pid $pid_file;
error_log @{[ error_log_file() ]} $level;
$user
$env
$modules
$main
events {
    worker_connections $settings{worker_connections};
    accept_mutex off;
    $use
}
http {
    access_log $root/logs/access.log;
    $temp_paths
    default_type text/plain;
    keepalive_timeout 68s;
$http
    server {
        listen $settings{server_addr}:$settings{server_port};
        server_name '$name';
        client_max_body_size 30M;
$settings{preamble}
$config
        $fallback
    }
}
CONF
    return;
}

# Nothing may be written outside the server root; a directive of a module that is not built in is an error.
sub temp_paths {
    my ($http) = @_;
    my @paths;
    for my $kind (qw(client_body proxy fastcgi scgi uwsgi)) {
        next if $http =~ /\b${kind}_temp_path\b/ || version_text() =~ /--without-http_${kind}_module\b/;
        push @paths, "${kind}_temp_path $root/${kind}_temp;";
    }
    return @paths;
}

# One run of the nginx command, which ends as soon as its daemon listens. Returns the wait status.
sub launch {
    my @command = ($settings{binary}, '-p', "$root/", '-c', $conf_file);
    push @command, "-e", error_log_file() if version->parse(nginx_version()) >= version->parse("1.19.5");
    my $child = fork // bail_out("fork: $!");
    if (!$child) {
        open STDIN,  '<', '/dev/null';
        open STDOUT, '>', '/dev/null';
        open STDERR, '>', $start_file;
        exec {$command[0]} @command or POSIX::_exit(127);
    }
    waitpid $child, 0;
    return $?;
}

sub start_output {
    open my $in, '<', $start_file or return '';
    local $/;
    return scalar(<$in>) // '';
}

# A fresh server root and a fresh nginx for this block.
sub prepare {
    my ($case, $config) = @_;
    stop_stale();
    make_root();
    write_user_files($case);
    write_config($case, $config);
    return;
}

sub start {
    my ($case) = @_;
    for my $try (1 .. 3) {
        my $status = launch();
        return adopt($case) if $status == 0;
        last if start_output() !~ m{Address already in use};
        sleep 0.2;
    }
    return bail_out("$case->{name} - nginx does not start:\n", start_output());
}

# The daemon that launch() left behind is ours to stop from here on.
sub adopt {
    my ($case) = @_;
    $daemon = find_pid();
    Test::More::fail("$case->{name} - nginx died before it wrote its pid file") if !defined $daemon;
    return;
}

# nginx daemonizes first and writes its pid file then.
sub find_pid {
    my $limit = time + $settings{timeout};
    while (time < $limit) {
        if (open my $in, '<', $pid_file) {
            my $line = <$in> // '';
            return $1 if $line =~ /\A(\d+)\s*\z/;
        }
        sleep 0.001;
    }
    return undef;
}

# A process that nobody has reaped yet has ended all the same.
sub alive {
    my ($process) = @_;
    kill 0, $process or return 0;
    open my $in, '<', "/proc/$process/stat" or return 1;
    my $line = <$in> // '';
    return $line !~ /\)\s+[ZX]\s/;
}

sub wait_gone {
    my ($process, $limit) = @_;
    my $end = time + $limit;
    my $pause = 0.001;
    while (alive($process)) {
        return 0 if time > $end;
        sleep $pause;
        $pause *= 1.5 if $pause < 0.02;
    }
    return 1;
}

# A graceful end, or a forced one when that takes too long. An nginx that is gone without having removed
# its pid file was killed by a signal; without a master nobody logs that, so it is a failure of the block.
sub stop {
    my ($name) = @_;
    my $process = $daemon // return;
    undef $daemon;
    return quit($process, $name) if alive($process);
    kill KILL => -$process;    # workers left behind by a dead master
    if (-e $pid_file) {
        unlink $pid_file;
        Test::More::fail("$name - nginx died during the block");
    }
    return;
}

sub quit {
    my ($process, $name) = @_;
    kill QUIT => $process;
    return if wait_gone($process, $settings{timeout});
    warn "$name - nginx did not quit within $settings{timeout} s and is killed\n";
    kill(KILL => -$process) || kill(KILL => $process);
    wait_gone($process, 3);
    unlink $pid_file;
    return;
}

# Left by a run that was itself killed.
sub stop_stale {
    return if is_up() || !-e $pid_file;
    my $old = find_pid() // return;
    open my $in, '<', "/proc/$old/cmdline" or return;
    local $/;
    my $command = <$in> // '';
    quit($old, 'an earlier run') if index($command, $root) >= 0;
    return;
}

1;
