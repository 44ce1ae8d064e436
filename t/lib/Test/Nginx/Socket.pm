package Test::Nginx::Socket;

# A small runner for test files written for OpenResty's Test::Nginx::Socket, with the sections and the
# meaning of that module as far as the tests here use them. A file that passes here passes there too; where
# the two differ, this one is the stricter. See the list of sections below for what it knows.

use strict;
use warnings;

use List::Util qw(shuffle);
use Scalar::Util qw(looks_like_number);
use Test::Base -base;
use version;

use Test::Nginx::Runner::Check qw(is_str);
use Test::Nginx::Runner::Client ();
use Test::Nginx::Runner::Request ();
use Test::Nginx::Runner::Server ();
use Test::Nginx::Runner::Settings qw(%settings bail_out expand section);
use Test::Nginx::Runner::Upstream ();

our @EXPORT = qw(
    run_tests is_str bail_out
    add_block_preprocessor add_cleanup_handler add_test_cleanup_handler
    check_accum_error_log config_preamble env_to_nginx log_level master_on master_off no_long_string
    no_root_location no_shuffle repeat_each server_addr server_name timeout worker_connections workers
    html_dir server_port server_port_for_client server_root
);

# A section that is not listed ends the run: a misspelt one would otherwise check nothing and pass. A test
# file with sections of its own adds them here.
our %Sections = map { $_ => 1 } qw(
    config http_config main_config server_name log_level user_files
    request raw_request raw_request_middle_delay pipelined_requests more_headers
    timeout abort shutdown ignore_response wait
    error_code error_code_like response_body response_body_like response_body_unlike
    response_headers response_headers_like raw_response_headers_like raw_response_headers_unlike
    error_log no_error_log grep_error_log grep_error_log_out shutdown_error_log no_shutdown_error_log
    tcp_listen tcp_reply tcp_reply_delay tcp_query tcp_query_len tcp_query_auto_timeout
    tcp_no_close tcp_shutdown tcp_shutdown_delay
    skip_nginx skip_nginx2 skip_eval must_die suppress_stderr
    ONLY SKIP LAST
);

my $owner = $$;    # only this process, not one forked from it, may end nginx
my $last_case;     # the block that the running nginx belongs to
my (@preprocessors, @cleanups, @test_cleanups);

sub setting {
    my ($name, @value) = @_;
    $settings{$name} = $value[0] if @value;
    return $settings{$name};
}

sub log_level(@)              { return setting('log_level', @_) }
sub repeat_each(@)            { return setting('repeat_each', @_) }
sub server_addr(@)            { return setting('server_addr', @_) }
sub server_name(@)            { return setting('server_name', @_) }
sub server_port(@)            { return setting('server_port', @_) }
sub server_port_for_client(@) { return setting('client_port', @_) }
sub timeout(@)                { return setting('timeout', @_) }
sub workers(@)                { return setting('workers', @_) }
sub worker_connections(@)     { return setting('worker_connections', @_) }
sub config_preamble($)        { return setting('preamble', @_) }
sub check_accum_error_log()   { return setting('accum_error_log', 1) }
sub master_on()               { return setting('master', 'on') }
sub master_off()              { return setting('master', 'off') }
sub no_long_string()          { return setting('long_string', 0) }
sub no_root_location()        { return setting('root_location', 0) }
sub no_shuffle()              { return setting('no_shuffle', 1) }
sub html_dir()                { return Test::Nginx::Runner::Server::html_dir() }
sub server_root()             { return $settings{servroot} }

sub env_to_nginx(@) {
    my @variables = @_;
    for my $variable (@variables) {
        croak("env_to_nginx: bad variable \"$variable\"") if $variable !~ /\A[A-Za-z_]/ || $variable =~ /\n/;
        push @{ $settings{env} }, $variable;
    }
    return;
}

# The one added last runs first.
sub add_block_preprocessor(&)   { unshift @preprocessors, @_; return }
sub add_cleanup_handler($)      { unshift @cleanups, @_;      return }
sub add_test_cleanup_handler($) { unshift @test_cleanups, @_; return }

sub run_tests() {
    $ENV{TEST_NGINX_SERVER_PORT} //= $settings{server_port};
    local $SIG{INT} = local $SIG{TERM} = local $SIG{HUP} = sub { exit 1 };
    my @blocks = blocks();
    for my $block ($settings{no_shuffle} ? @blocks : shuffle @blocks) {
        my $failures = failures();
        my $case = { block => $block, name => "$0 " . $block->name, ports => {}, index => 0, repeat => 0, many => 0 };
        validate($case);
        $_->($block) for @preprocessors;
        $block->set_value(name => $case->{name});
        run_block($case);
        $_->($block) for @test_cleanups;
        explain() if failures() > $failures;
        keep_log($case);
    }
    $_->() for splice @cleanups;
    finish_last();
    return;
}

sub failures {
    return scalar grep { !$_ } Test::More->builder->summary;
}

# Catches what would make a block pass without having checked anything.
sub validate {
    my ($case) = @_;
    my %seen;
    for my $name (@{ $case->{block}->_section_order || [] }) {
        bail_out("$case->{name} - section $name is unknown to this runner") if !$Sections{$name};
        bail_out("$case->{name} - section $name is there twice") if $seen{$name}++;
        my $value = section($case, $name);
        bail_out("$case->{name} - $name: $value")
            if defined $value && !ref $value && $value =~ / at \(eval \d+\) line \d+/;
    }
    return;
}

sub run_block {
    my ($case) = @_;
    my ($count, $reason) = skip_of($case);
    if ($reason) {
        for (1 .. $settings{repeat_each}) {
            SKIP: { skip("$case->{name} - $reason", $count) }
        }
        return;
    }
    my $config = expand(section($case, 'config'), $case);
    if (defined $config) {
        finish_last();
        Test::Nginx::Runner::Server::prepare($case, $config);
        Test::Nginx::Runner::Check::rewind_log();
        return check_death($case) if defined section($case, 'must_die');
        Test::Nginx::Runner::Server::start($case);
    }
    elsif (!Test::Nginx::Runner::Server::is_up()) {
        bail_out("$case->{name} - no config, and no earlier block whose nginx could serve this one");
    }
    $last_case = $case;
    Test::Nginx::Runner::Check::rewind_log();
    for my $repeat (0 .. $settings{repeat_each} - 1) {
        $case->{repeat} = $repeat;
        Test::Nginx::Runner::Server::write_user_files($case) if $repeat;
        Test::Nginx::Runner::Upstream::start($case);
        run_requests($case);
        Test::Nginx::Runner::Upstream::check($case, \&is_str);
        Test::Nginx::Runner::Upstream::stop();
    }
    return;
}

# Ends the nginx of the block before, and checks what it logged by that.
sub finish_last {
    my $case = $last_case // return;
    undef $last_case;
    Test::Nginx::Runner::Server::stop($case->{name});
    Test::Nginx::Runner::Check::shutdown_log($case);
    return;
}

sub run_requests {
    my ($case) = @_;
    my @requests = Test::Nginx::Runner::Request::from_block($case);
    my $pipelined = pop @requests;
    $case->{many} = @requests > 1 || defined section($case, 'pipelined_requests');
    $case->{index} = 0;
    for my $packets (@requests) {
        my $is_head = $packets->[0]{value} =~ /\A\s*HEAD\s/;
        my $bytes = Test::Nginx::Runner::Client::exchange($case, $packets);
        for (1 .. $pipelined) {
            $bytes = run_checks($case, $bytes // '', $is_head);
            $case->{index}++;
        }
        next if !defined $bytes || $bytes eq '';
        $bytes =~ s/([^ -~])/sprintf '\\x%02x', ord $1/ge;
        warn "WARNING: $case->{name} - unexpected bytes after the response: \"$bytes\"\n";
    }
    return;
}

# Checks the first response in the bytes and what was logged until now; returns the bytes behind it.
sub run_checks {
    my ($case, $bytes, $is_head) = @_;
    my $left;
    if (!defined section($case, 'ignore_response')) {
        (my $response, my $head, $left) = Test::Nginx::Runner::Client::parse($case, $bytes, $is_head);
        Test::Nginx::Runner::Check::response($case, $response, $head);
    }
    my $wait = section($case, 'wait');
    Time::HiRes::sleep($wait) if $wait;
    Test::Nginx::Runner::Check::error_log($case);
    return $left;
}

# With a number, that must be the exit code.
sub check_death {
    my ($case) = @_;
    my $wanted = section($case, 'must_die');
    for my $repeat (0 .. $settings{repeat_each} - 1) {
        $case->{repeat} = $repeat;
        my $status = Test::Nginx::Runner::Server::launch();
        if (looks_like_number($wanted)) {
            is($status >> 8, $wanted, "$case->{name} - nginx dies with exit code $wanted");
        }
        else {
            isnt($status, 0, "$case->{name} - nginx dies");
        }
        fail("$case->{name} - nginx was killed by a signal") if $status & 127;
        Test::Nginx::Runner::Check::error_log($case);
        next if $status != 0;
        Test::Nginx::Runner::Server::adopt($case);
        Test::Nginx::Runner::Server::stop($case->{name});
    }
    return;
}

# "count: condition[: reason]" of the skip sections: (count, reason), or nothing when the block is to run.
sub skip_of {
    my ($case) = @_;
    for my $section (qw(skip_eval skip_nginx skip_nginx2)) {
        my $text = section($case, $section) // next;
        my ($count, $condition) = $text =~ /\A\s*(\d+)\s*:\s*(.*?)\s*\z/s
            or bail_out("$case->{name} - bad $section: \"$text\"");
        if ($section eq 'skip_eval') {
            my $holds = eval $condition;    ## no critic: code of the test file
            bail_out("$case->{name} - skip_eval: $@") if $@;
            return ($count, 'skip_eval') if $holds;
            next;
        }
        ($condition, my $reason) = split /\s*:\s*/, $condition, 2;
        return ($count, $reason || "nginx $condition") if version_matches($case, $condition);
    }
    return;
}

# "< 1.2.3", or two of these joined by "and" or "or".
sub version_matches {
    my ($case, $condition) = @_;
    my $nginx = version->parse(Test::Nginx::Runner::Server::nginx_version());
    my ($first, $joint, @more) = split /\s+(and|or)\s+/, $condition;
    bail_out("$case->{name} - bad version condition: \"$condition\"") if @more > 1;
    my @results = map {
        my ($operator, $wanted) = /\A([<>]=?)\s*(\d+\.\d+\.\d+)\z/
            or bail_out("$case->{name} - bad version condition: \"$condition\"");
        my $order = $nginx <=> version->parse($wanted);
        $operator =~ /=/ && $order == 0 || ($operator =~ /</ ? $order < 0 : $order > 0);
    } $first, @more;
    return ($joint // '') eq 'or' ? $results[0] || $results[1] : !grep { !$_ } @results;
}

# The severe lines of a failed block, which the next block's nginx would wipe out.
sub explain {
    open my $in, '<', Test::Nginx::Runner::Server::error_log_file() or return;
    my @lines = grep { /\[(?:warn|error|crit|alert|emerg)\]/ } <$in>;
    splice @lines, 0, -10 if @lines > 10;
    diag('error.log: ', $_) for @lines;
    return;
}

# TEST_NGINX_ERROR_LOG names a file that gathers the logs of all blocks.
sub keep_log {
    my ($case) = @_;
    my $path = $ENV{TEST_NGINX_ERROR_LOG} || return;
    open my $in, '<:raw', Test::Nginx::Runner::Server::error_log_file() or return;
    open my $out, '>>:raw', $path or bail_out("cannot write $path: $!");
    print {$out} "\n=== $case->{name}\n", <$in>;
    return;
}

# However the test file ends, nothing that it started goes on running.
END {
    if ($$ == $owner) {
        local $?;
        Test::Nginx::Runner::Upstream::stop();
        finish_last();
        Test::Nginx::Runner::Server::stop($0);
        Test::Nginx::Runner::Server::stop_stale();
        File::Path::remove_tree($settings{servroot}) if $ENV{TEST_NGINX_RANDOMIZE};
    }
}

1;
