package Test::Nginx::Runner::Request;

# From the sections of a block to the bytes of its requests. A request is a list of packets, each a hash
# { value => bytes, delay_before => seconds }, and each is sent by a write of its own.

use strict;
use warnings;

use Test::Nginx::Runner::Settings qw(%settings bail_out expand section);

# All requests of the block, and how many responses each connection brings.
sub from_block {
    my ($case) = @_;
    my $raw = section($case, 'raw_request');
    if (defined $raw) {
        return ([map { { value => $_ } } ref $raw ? @$raw : $raw], 1);
    }
    my $pipelined = section($case, 'pipelined_requests');
    if (defined $pipelined) {
        bail_out("$case->{name} - pipelined_requests must be an array") if ref $pipelined ne 'ARRAY';
        return (pipeline($case, $pipelined), scalar @$pipelined);
    }
    my $request = section($case, 'request') // bail_out("$case->{name} - no request");
    if (ref $request ne 'ARRAY') {
        1 while $request =~ s/\A(?:\s+|\s*#[^\n]*\n)//;
        $request = [$request];
    }
    my $index = 0;
    my @all = map { build($case, ref $_ ? $_ : [$_], $index++, 'close') } @$request;
    return (@all, 1);
}

sub pipeline {
    my ($case, $requests) = @_;
    my $all = '';
    for my $index (0 .. $#$requests) {
        my $connection = $index == $#$requests ? 'close' : 'keep-alive';
        my $packets = build($case, [expand($requests->[$index], $case)], $index, $connection);
        $all .= join '', map { $_->{value} } @$packets;
    }
    return [{ value => $all }];
}

# Completes "METHOD [target [version]]" and puts the headers behind it, in the first packet.
sub build {
    my ($case, $packets, $index, $connection) = @_;
    my @packets = map { ref $_ ? {%$_} : { value => $_ } } @$packets;
    my ($line, $rest) = $packets[0]{value} =~ /\A([^\n]*\S)[^\S\n]*(\n.*)?\z/s
        or bail_out("$case->{name} - a request begins with its request line");
    bail_out("$case->{name} - the first packet must hold the whole request line") if @packets > 1 && !defined $rest;
    my ($method, $target, $version, $more) = split ' ', $line;
    bail_out("$case->{name} - not a request line: \"$line\"") if defined $more;

    $packets[0]{value} = substr $rest // "\n", 1;
    my ($extra, $chunked) = more_headers($case, $index);
    my $length = '';
    if (!$chunked && $extra !~ /^Content-Length:/m && join('', map { $_->{value} } @packets) ne '') {
        $packets[0]{value} =~ s/\A\s+//;
        $packets[-1]{value} =~ s/\s+\z//;
        $length = 'Content-Length: ' . length(join '', map { $_->{value} } @packets) . "\r\n";
    }
    my $head = join ' ', $method, $target // '/', $version // 'HTTP/1.1';
    $head .= "\r\n";
    $head .= "Host: $settings{server_name}\r\n" if $extra !~ /^Host:/mi;
    $head .= "Connection: $connection\r\n" if $extra !~ /^Connection:/mi;
    $packets[0]{value} = "$head$extra$length\r\n$packets[0]{value}";
    return \@packets;
}

# The header lines to add, and whether they announce a chunked body, which the test then writes itself.
sub more_headers {
    my ($case, $index) = @_;
    my $text = section($case, 'more_headers') // return ('', 0);
    if (ref $text eq 'ARRAY') {
        $text = $text->[$index] // bail_out("$case->{name} - more_headers has no entry $index");
    }
    my ($lines, $chunked) = ('', 0);
    for my $line (grep { /\S/ && !/^\s*#/ } split /\r?\n/, $text) {
        my ($name, $value) = split /:\s*/, $line, 2;
        $value //= '';
        $chunked = 1 if lc $name eq 'transfer-encoding' && $value eq 'chunked';
        $lines .= "$name: $value\r\n";
    }
    return ($lines, $chunked);
}

1;
