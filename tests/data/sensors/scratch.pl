#!/usr/bin/perl
# free space of the scratch file system
use strict;
use warnings;
use Sys::Hostname;

$| = 1;
my $host = hostname();
my $directory = $ENV{SCRATCH} || '/tmp';

while (my $line = <STDIN>) {
    chomp $line;
    last if $line eq 'quit';
    my @lines = `df -Pk $directory`;
    my (undef, $total, $used, $free) = split ' ', $lines[-1];
    print "begin\n";
    print "$host:scratch_left:${free}K\n";
    print "end\n";
}
