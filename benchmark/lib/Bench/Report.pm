package Bench::Report;

# Samples to tables. A round's outbound cost is the contestant's figure minus the baseline's of the same
# round, so that a machine that slows down between rounds does not show up as a cost.

use strict;
use warnings;
use Bench::Contestants;
use JSON::PP;

sub median {
    my @sorted = sort { $a <=> $b } @_;
    my $middle = int @sorted / 2;
    return @sorted % 2 ? $sorted[$middle] : ( $sorted[ $middle - 1 ] + $sorted[$middle] ) / 2;
}

sub spread {
    my @sorted = sort { $a <=> $b } @_;
    return { median => median(@sorted), min => $sorted[0], max => $sorted[-1] };
}

# One summary for each contestant that has samples of this kind and concurrency.
sub summaries {
    my ( $samples, $kind, $connections ) = @_;
    my %of;
    for my $sample (@$samples) {
        next if $sample->{kind} ne $kind || ( $sample->{connections} // 0 ) != ( $connections // 0 );
        $of{ $sample->{contestant} }{ $sample->{round} } = $sample;
    }
    my @summaries;
    for my $contestant ( Bench::Contestants::all() ) {
        my $name   = $contestant->{name};
        my $rounds = $of{$name} or next;
        my @own    = map { $rounds->{$_} } sort { $a <=> $b } keys %$rounds;
        my @values = map { $_->{value} } @own;
        my $summary = {
            kind => "$kind-summary", contestant => $name, rounds => scalar @values, total => spread(@values),
            outbound => spread( map { $_->{value} - $of{baseline}{ $_->{round} }{value} } @own ),
            ( $connections ? ( connections => $connections ) : () ),
        };
        if ( $kind eq 'cpu' ) {
            $summary->{per_second} = spread( map { 1e6 / $_ } @values );
            $summary->{busy} = median( map { $_->{busy} } @own );
        }
        push @summaries, $summary;
    }
    return @summaries;
}

sub thousands {
    my $n = sprintf '%.0f', $_[0];
    1 while $n =~ s/^(-?\d+)(\d{3})/$1,$2/;
    return $n;
}

sub cell {
    my ( $spread, $format ) = @_;
    my ( $mid, $min, $max ) = map { $format->($_) } @$spread{qw(median min max)};
    return $min eq $max ? $mid : "$mid ($min–$max)";
}

sub label { return Bench::Contestants::by_name( $_[0]{contestant} )->{label} }

sub cpu_table {
    my ( $connections, @summaries ) = @_;
    my $us    = sub { sprintf '%.1f', $_[0] };
    my $lines = "### $connections connections\n\n"
        . "| one request | CPU µs | outbound CPU µs | requests per worker-CPU-second | worker busy |\n"
        . "|---|---|---|---|---|\n";
    for my $summary (@summaries) {
        $lines .= sprintf "| %s | %s | %s | %s | %.0f %% |\n", label($summary), cell( $summary->{total}, $us ),
            $summary->{contestant} eq 'baseline' ? '' : cell( $summary->{outbound}, $us ),
            cell( $summary->{per_second}, \&thousands ), 100 * $summary->{busy};
    }
    return $lines;
}

sub instruction_table {
    my @summaries = @_;
    my $lines = "### User instructions\n\n| one request | instructions | outbound instructions |\n|---|---|---|\n";
    for my $summary (@summaries) {
        $lines .= sprintf "| %s | %s | %s |\n", label($summary), cell( $summary->{total}, \&thousands ),
            $summary->{contestant} eq 'baseline' ? '' : cell( $summary->{outbound}, \&thousands );
    }
    return $lines;
}

# The whole result: Markdown for people and a list of records for programs.
sub build {
    my ( $session, $samples ) = @_;
    my $machine = $session->{machine};
    my $text = sprintf "Measured %s%s on %s, Linux %s, %s; median (lowest–highest) of %d rounds of %d s, "
        . "%d rounds of instruction counts.\n\n",
        $session->{date}, $machine->{commit} ? " at $machine->{commit}" : '', $machine->{cpu}, $machine->{kernel},
        $machine->{nginx}, @$session{qw(rounds seconds callgrind_rounds)};
    $text .= "Not measured: $_\n\n" for @{ $session->{skipped} };
    my @records;
    for my $connections ( @{ $session->{connections} } ) {
        my @summaries = summaries( $samples, 'cpu', $connections ) or next;
        $text .= cpu_table( $connections, @summaries ) . "\n";
        push @records, @summaries;
    }
    if ( my @summaries = summaries( $samples, 'instructions' ) ) {
        $text .= instruction_table(@summaries) . "\n";
        push @records, @summaries;
    }
    my $json = JSON::PP->new->canonical;
    my $lines = join '', map { $json->encode($_) . "\n" } { kind => 'session', %$session }, @$samples, @records;
    return ( $text, $lines );
}

# Puts the tables between the two marks of a file.
sub embed {
    my ( $file, $text ) = @_;
    my $whole = Bench::Env::slurp($file);
    $whole =~ s/(<!-- results -->\n).*?(<!-- end of results -->)/$1$text$2/s or die "$file has no place for results\n";
    write_file( $file, $whole );
    return;
}

sub write_file {
    my ( $file, $text ) = @_;
    open my $out, '>', $file or die "$file: $!\n";
    print {$out} $text;
    close $out or die "$file: $!\n";
    return;
}

1;
