#!/usr/bin/perl
# A runner that passes everything is of no use. Each case below is a test file that must fail, with the
# message that says why, and must leave nothing running. Run through "tools/prove" (which finds the nginx):
#
#     tools/prove t/scripts/runner-selftest.pl
#
# With TEST_NGINX_LIB the same cases run on OpenResty's Test::Nginx, less those that only the runner in t/lib
# refuses.
use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use IO::Socket::INET;
use Test::More;
use Time::HiRes qw(sleep time);

my $here = abs_path(dirname(__FILE__));
my $dir = tempdir(CLEANUP => 1);
my $ours = !$ENV{TEST_NGINX_LIB};
my @include = map { ('-I', $_) } grep { -d } $ours ? () : ($ENV{TEST_NGINX_LIB}, "$ENV{TEST_NGINX_LIB}/lib"), "$here/../lib";
$ENV{TEST_NGINX_BINARY} ||= '/usr/sbin/nginx';
$ENV{TEST_NGINX_PORT} ||= 1984;
$ENV{TEST_NGINX_SERVROOT} = "$dir/servroot";
delete $ENV{TEST_NGINX_RANDOMIZE};

my $answer = 'location = /t { return 200 "hello\n"; }';
my $log = 'location = /t { content_by_lua_block { ngx.log(ngx.ERR, "oops") ngx.say("hello") } }';
my $get = "--- request\nGET /t\n";

# name => [config, sections, what the output must have, "ours" when only our runner refuses it]
my @cases = (
    'wrong body'            => [$answer, "$get--- response_body\nhallo\n", qr/^not ok \d+ .*response_body/m],
    'wrong part of a body'  => [$answer, "$get--- response_body_like: hallo", qr/^not ok \d+ .*response_body_like/m],
    'unwanted part of a body' => [$answer, "$get--- response_body_unlike: hello", qr/^not ok \d+ .*response_body_unlike/m],
    'body of one of two'    => [$answer, "--- request eval\n['GET /t', 'GET /t']\n--- response_body eval\n[\"hello\\n\", 'x']\n",
                                qr/^not ok \d+ .*response_body.*req 1/m],
    'default status'        => ['location = /t { return 404; }', $get, qr/^not ok \d+ .*status code/m],
    'wrong status'          => [$answer, "$get--- error_code: 404", qr/^not ok \d+ .*status code/m],
    'wrong status pattern'  => [$answer, "$get--- error_code_like: ^4", qr/^not ok \d+ .*status code/m],
    'no response'           => ['location = /t { return 444; }', $get, qr/^not ok \d+ .*status code/m],
    'wrong header'          => [$answer, "$get--- response_headers\nContent-Length: 7\n", qr/^not ok \d+ .*header Content-Length/m],
    'missing header'        => [$answer, "$get--- response_headers\nX-None: a\n", qr/^not ok \d+ .*header X-None/m],
    'unwanted header'       => [$answer, "$get--- response_headers\n! Content-Length\n", qr/^not ok \d+ .*header Content-Length/m],
    'wrong header pattern'  => [$answer, "$get--- response_headers_like\nServer: apache.*\n", qr/^not ok \d+ .*header Server/m],
    'wrong raw header'      => [$answer, "$get--- raw_response_headers_like: X-None", qr/^not ok \d+ .*raw/m],
    'unwanted raw header'   => [$answer, "$get--- raw_response_headers_unlike: Server:", qr/^not ok \d+ .*raw/m],
    'missing log'           => [$log, "$get--- error_log\nooops\n", qr/^not ok \d+ .*ooops/m],
    'missing log pattern'   => [$log, "$get--- error_log eval\n['oops', qr/o{3}ps/]\n", qr/^not ok \d+ .*o\{3\}ps/m],
    'unwanted log'          => [$log, "$get--- no_error_log\n[crit]\n[error]\n", qr/^not ok \d+ .*\[error\]/m],
    'unwanted log pattern'  => [$log, "$get--- no_error_log eval\nqr/\\[err.*oops/\n", qr/^not ok \d+ .*err.*oops/m],
    'default of no_error_log' => [$log =~ s/ERR/CRIT/r, $get, qr/^not ok \d+ .*\[crit\]/m],
    'wrong grep output'     => [$log, "$get--- grep_error_log eval: qr/o+ps/\n--- grep_error_log_out\nops\n", qr/^not ok \d+ .*grep_error_log_out/m],
    'missing shutdown log'  => [$answer, "$get--- shutdown_error_log\nfarewell\n", qr/^not ok \d+ .*farewell/m],
    'unwanted shutdown log' => [$answer, "$get--- no_shutdown_error_log\nexit\n", qr/^not ok \d+ .*exit/m],
    'timeout'               => ['location = /t { content_by_lua_block { ngx.sleep(2) } }', "$get--- timeout: 100ms",
                                qr/^not ok \d+ .*client socket timed out/m],
    'broken chunks'         => [raw('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc\r\n'), $get,
                                qr/^not ok \d+ .*invalid chunked/m],
    'no last chunk'         => [raw('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n'), $get,
                                qr/^not ok \d+ .*(?:last chunk)/m],
    'wrong tcp_query'       => [upstream(), "$get--- tcp_listen: \$TEST_NGINX_RAND_PORT_1\n--- tcp_query: Query\n--- tcp_reply: a",
                                qr/^not ok \d+ .*tcp_query/m],
    'wrong tcp_query_len'   => [upstream(), "$get--- tcp_listen: \$TEST_NGINX_RAND_PORT_1\n--- tcp_query_len: 2\n--- tcp_reply: a",
                                qr/^not ok \d+ .*(?i:query.len)/m],
    'alive'                 => [$answer, "$get--- must_die", qr/^not ok \d+ .*\bdies?\b/m],
    'dead otherwise'        => ['nhfc_no_such_directive;', "--- must_die: 2\n", qr/^not ok \d+ .*exit code/m],
    'bad config'            => ['nhfc_no_such_directive;', $get, qr/^Bail out!/m, 'ours'],
    'several without array' => [$answer, "--- request eval\n['GET /t', 'GET /t']\n--- response_body\nhello\n", qr/^Bail out!/m],
    'no request'            => [$answer, "--- response_body\nhello\n", qr/^Bail out!/m],
    'bad request line'      => [$answer, "--- request\nGET /t HTTP/1.1 more\n", qr/^Bail out!/m],
    'unset variable'        => ["set \$a \$TEST_NGINX_NO_SUCH;", $get, qr/^Bail out!/m],
    'misspelt section'      => [$answer, "$get--- eror_code: 404", qr/^Bail out!.*eror_code/m, 'ours'],
    'section twice'         => [$answer, "$get--- error_code: 404\n--- error_code: 200", qr/^Bail out!.*error_code/m, 'ours'],
    'eval that fails'       => [$answer, "$get--- no_error_log eval\n[qr/(/]\n", qr/^Bail out!.*no_error_log/m, 'ours'],
    'killed nginx'          => ['location = /t { content_by_lua_block { local ffi = require "ffi"
                                  ffi.cdef "int kill(int pid, int sig);" ffi.C.kill(ngx.worker.pid(), 11) } }',
                                "$get--- ignore_response", qr/^not ok \d+ .*nginx died/m, 'ours'],
);

# A response that nginx itself would not send.
sub raw {
    my ($bytes) = @_;
    return "location = /t { content_by_lua_block { local socket = ngx.req.socket(true) socket:send(\"$bytes\") } }";
}

sub upstream {
    return 'location = /t { content_by_lua_block { local socket = ngx.socket.tcp()
        socket:connect("127.0.0.1", $TEST_NGINX_RAND_PORT_1) socket:send("query") socket:receive("*a") ngx.say("ok") } }';
}

sub write_test {
    my ($config, $sections) = @_;
    my $file = "$dir/case.t";
    open my $out, '>', $file or die "$file: $!";
    print {$out} "use Test::Nginx::Socket 'no_plan';\nuse NhfcTest;\nno_long_string();\nrun_tests();\n",
        "__DATA__\n\n=== TEST 1: case\n--- config\n$config\n$sections\n";
    close $out or die "$file: $!";
    return $file;
}

# The processes that have the server root of these cases in their command line.
sub left_running {
    my @left;
    for my $file (glob '/proc/[0-9]*/cmdline') {
        open my $in, '<', $file or next;
        local $/;
        my $command = <$in> // '';
        push @left, $command =~ tr/\0/ /r if index($command, $ENV{TEST_NGINX_SERVROOT}) >= 0;
    }
    return @left;
}

sub run_case {
    my ($file) = @_;
    open my $pipe, '-|', 'sh', '-c', 'exec "$@" 2>&1', 'sh', $^X, @include, $file or die "sh: $!";
    local $/;
    my $output = <$pipe> // '';
    close $pipe;
    return ($output, $?);
}

while (my ($name, $case) = splice @cases, 0, 2) {
    my ($config, $sections, $pattern, $only) = @$case;
    next if $only && !$ours;
    my ($output, $status) = run_case(write_test($config, $sections));
    # OpenResty's runner may exit with 0 after a failure; prove sees the line all the same.
    ok($status != 0 || !$ours && $output =~ m{^not ok}m, "$name: fails") or diag($output);
    like($output, $pattern, "$name: says so");
    is_deeply([left_running()], [], "$name: leaves nothing running");
}

# The control: the same frame with nothing wrong in it.
my ($output, $status) = run_case(write_test($answer, "$get--- response_body\nhello\n"));
is($status, 0, 'nothing wrong: passes') or diag($output);

# What nginx logs after it has answered is waited for, also on a busy machine.
if ($ours) {
    my $late = 'location = /t { content_by_lua_block { ngx.say("hello")
        ngx.timer.at(0.2, function() ngx.log(ngx.WARN, "late;") end) } }';
    my %sections = (error_log => "--- error_log\nlate;\n", grep => "--- grep_error_log: late;\n--- grep_error_log_out\nlate;\n");
    for my $by (sort keys %sections) {
        my ($output, $status) = run_case(write_test($late, $get . $sections{$by}));
        is($status, 0, "late line, $by: passes") or diag($output);
    }
}

# A run that is ended from outside takes nginx with it.
if ($ours) {
    my $file = write_test('location = /t { content_by_lua_block { ngx.sleep(60) } }', "$get--- timeout: 60s");
    my $child = fork // die "fork: $!";
    if (!$child) {
        open STDOUT, '>', '/dev/null';
        open STDERR, '>', '/dev/null';
        exec $^X, @include, $file or die "exec: $!";
    }
    my $limit = time + 5;
    # The run knows of nginx once this file has its number in it.
    sleep 0.05 until -s "$dir/servroot/logs/nginx.pid" || time > $limit;
    ok(scalar left_running(), 'interrupted: nginx was up');
    kill TERM => $child;
    waitpid $child, 0;
    isnt($?, 0, 'interrupted: fails');
    $limit = time + 5;
    sleep 0.05 until !left_running() || time > $limit;
    is_deeply([left_running()], [], 'interrupted: leaves nothing running');
}

done_testing();
