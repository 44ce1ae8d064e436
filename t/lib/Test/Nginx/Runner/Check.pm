package Test::Nginx::Runner::Check;

# Compares what came back, and what nginx logged, with what the block expects.

use strict;
use warnings;

use Exporter 'import';
use Test::LongString qw(is_string);
use Test::More ();
use Time::HiRes qw(sleep);

use Test::Nginx::Runner::Server ();
use Test::Nginx::Runner::Settings qw(%settings bail_out expand section);

our @EXPORT_OK = qw(is_str);

my $log_offset = 0;    # where the part of the error log begins that no check has seen

sub is_str {
    my ($got, $expected, $name) = @_;
    return Test::More::like($got, $expected, $name) if ref $expected eq 'Regexp';
    return is_string($got, $expected, $name) if $settings{long_string};
    return Test::More::is($got, $expected, $name);
}

sub is_same {
    my ($got, $expected) = @_;
    return ref $expected eq 'Regexp' ? $got =~ $expected : $got eq $expected;
}

# The expectation for one of several requests. With several, each must have its own.
sub expected {
    my ($case, $section) = @_;
    my $value = section($case, $section);
    return $value->[$case->{index}] if ref $value eq 'ARRAY';
    bail_out("$case->{name} - $section must be an array, like the requests") if $case->{many};
    return $value;
}

# Text that may speak of this run's ports and paths.
sub expected_text {
    my ($case, $section) = @_;
    my $text = expected($case, $section);
    return $text if !defined $text || ref $text;
    $text =~ s/\$ServerPort\b/$settings{server_port}/g;
    $text =~ s/\$ServerPortForClient\b/$settings{client_port}/g;
    return $text;
}

sub response {
    my ($case, $response, $head) = @_;
    status($case, $response);
    raw_headers($case, $head);
    headers($case, $response, $head);
    body($case, $response);
    return;
}

sub status {
    my ($case, $response) = @_;
    my $code = $response && $response->code || '';
    my $name = "$case->{name} - status code ok";
    if (defined section($case, 'error_code_like')) {
        my $pattern = expected($case, 'error_code_like');
        return Test::More::like($code, qr{$pattern}sm, $name);
    }
    my $wanted = defined section($case, 'error_code') ? expected($case, 'error_code') : 200;
    return Test::More::is($code, $wanted, $name);
}

sub raw_headers {
    my ($case, $head) = @_;
    for my $section (qw(raw_response_headers_like raw_response_headers_unlike)) {
        next if !defined section($case, $section);
        my $pattern = expected($case, $section);
        my $compare = $section =~ /unlike/ ? \&Test::More::unlike : \&Test::More::like;
        $compare->($head, qr/$pattern/s, "$case->{name} - $section");
    }
    return;
}

# "Name: value" lines; "! Name" says that the header must be absent.
sub headers {
    my ($case, $response, $head) = @_;
    my ($section) = grep { defined section($case, $_) } qw(response_headers response_headers_like);
    return if !$section;
    for my $line (split /\r?\n/, expected_text($case, $section) // '') {
        $line =~ s/\A\s+|\s+\z//g;
        next if $line eq '';
        if ($line =~ /\A!\s*(.+)/) {
            Test::More::unlike($head, qr/^\Q$1\E\s*:/mi, "$case->{name} - header $1 is absent");
            next;
        }
        my ($name, $value) = split /\s*:\s*/, $line, 2;
        my $got = $response && $response->header($name) // '';
        if ($section eq 'response_headers') {
            Test::More::is($got, $value // '', "$case->{name} - header $name ok");
        }
        else {
            Test::More::like($got, qr/\A$value\z/, "$case->{name} - header $name like ok");
        }
    }
    return;
}

sub body {
    my ($case, $response) = @_;
    my $content = $response ? $response->content : undef;
    my $where = "(repeated req $case->{repeat}, req $case->{index})";
    if (defined section($case, 'response_body')) {
        my $text = expand(expected_text($case, 'response_body'), $case);
        return is_str($content, $text, "$case->{name} - response_body $where");
    }
    for my $section (qw(response_body_like response_body_unlike)) {
        next if !defined section($case, $section);
        my $pattern = expected_text($case, $section);
        my $compare = $section =~ /unlike/ ? \&Test::More::unlike : \&Test::More::like;
        return $compare->($content, qr/$pattern/s, "$case->{name} - $section $where");
    }
    return;
}

# One pattern per line, or an array; a string is searched for as it is, a regex is matched.
sub patterns {
    my ($case, $section) = @_;
    my $value = section($case, $section) // return;
    return @$value if ref $value eq 'ARRAY';
    return ref $value ? $value : grep { $_ ne '' } split /\n+/, $value;
}

sub in_line {
    my ($line, $pattern) = @_;
    return ref $pattern ? $line =~ $pattern : index($line, $pattern) >= 0;
}

sub rewind_log {
    $log_offset = 0;
    return;
}

# Lines that no check has seen. nginx logs after it has answered, so wait until the log is quiet and has enough in
# it. That takes three times the usual pause at most where it is not quiet, and long only where something is missing.
sub new_lines {
    my ($has_enough) = @_;
    my $file = Test::Nginx::Runner::Server::error_log_file();
    open my $in, '<:raw', $file or return;
    seek $in, $settings{accum_error_log} ? 0 : $log_offset, 0;
    my @lines;
    my $is_up = Test::Nginx::Runner::Server::is_up();
    for my $try (1 .. ($is_up ? 60 : 1)) {
        my $size = -s $file;
        sleep $settings{sleep} if $is_up;
        push @lines, <$in>;
        last if $has_enough->(@lines) && ($try >= 3 || $size == -s $file);
        seek $in, 0, 1;    # clears the end-of-file state
    }
    $log_offset = tell $in;
    return @lines;
}

sub error_log {
    my ($case) = @_;
    my @wanted = patterns($case, 'error_log');
    my ($pattern, $output) = grep_wanted($case);
    my @lines = new_lines(sub {
        my @lines = @_;
        return 0 if grep { my $wanted = $_; !grep { in_line($_, $wanted) } @lines } @wanted;
        return !defined $pattern || is_same(grepped($pattern, @lines), $output);
    });
    if (defined $pattern) {
        is_str(grepped($pattern, @lines), $output, "$case->{name} - grep_error_log_out (req $case->{repeat})");
    }
    my $suffix = "(req $case->{repeat})";
    present($case, 'error.log', $suffix, \@lines, @wanted);
    absent($case, 'error.log', $suffix, \@lines, patterns($case, 'no_error_log'));
    warn_about($case, @lines);
    return;
}

# What nginx logged while it stopped.
sub shutdown_log {
    my ($case) = @_;
    my @wanted = patterns($case, 'shutdown_error_log');
    my @unwanted = patterns($case, 'no_shutdown_error_log');
    return if !@wanted && !@unwanted;
    my @lines = new_lines(sub { return 1 });
    present($case, 'error.log at shutdown', '', \@lines, @wanted);
    absent($case, 'error.log at shutdown', '', \@lines, @unwanted);
    return;
}

sub present {
    my ($case, $file, $suffix, $lines, @wanted) = @_;
    for my $pattern (@wanted) {
        my $found = grep { in_line($_, $pattern) } @$lines;
        Test::More::ok($found, "$case->{name} - \"$pattern\" is in a line of $file $suffix");
    }
    return;
}

sub absent {
    my ($case, $file, $suffix, $lines, @unwanted) = @_;
    for my $pattern (@unwanted) {
        my @found = grep { in_line($_, $pattern) } @$lines;
        Test::More::ok(!@found, "$case->{name} - \"$pattern\" is in no line of $file $suffix");
        Test::More::diag(@found) if @found;
    }
    return;
}

# What of the log is looked at, and what has to come of that.
sub grep_wanted {
    my ($case) = @_;
    my ($pattern, $output) = map { section($case, $_) } qw(grep_error_log grep_error_log_out);
    return if !defined $pattern && !defined $output;
    bail_out("$case->{name} - grep_error_log needs grep_error_log_out, and the reverse")
        if !defined $pattern || !defined $output;
    ($pattern, $output) = map { ref $_ eq 'ARRAY' ? $_->[$case->{repeat}] : $_ } $pattern, $output;
    return (ref $pattern ? $pattern : qr/\Q$pattern\E/, expand($output, $case));
}

# The parts of the log that match, one per line of the log, as a text of their own.
sub grepped {
    my ($regex, @lines) = @_;
    return join '', map { $_ =~ /($regex)/ && $1 !~ /\n/ ? "$1\n" : () } @lines;
}

# Severe lines that the block says nothing about are shown, but do not fail it.
sub warn_about {
    my ($case, @lines) = @_;
    my $said = join "\n", patterns($case, 'error_log'), patterns($case, 'no_error_log');
    for my $level (qw(alert crit emerg)) {
        next if $said =~ /\[$level/;
        warn "WARNING: $case->{name} - $_" for grep { /\[$level\]/ } @lines;
    }
    for my $line (grep { /\bAssertion .*failed\b/ } @lines) {
        Test::More::fail("$case->{name} - $line");
    }
    return;
}

1;
