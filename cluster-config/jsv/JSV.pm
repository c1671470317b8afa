# Helper functions for job submission verifiers in Perl. A verifier says what to do with a job and calls jsv_main:
#
#     #!/usr/bin/perl
#     use lib "$ENV{SGE_ROOT}/util/resources/jsv";
#     use JSV qw(:ALL);
#     jsv_on_start(sub { jsv_send_env() });                      # to be sent the job's environment
#     jsv_on_verify(sub {
#         my %job = jsv_get_param_hash();
#         return jsv_reject("this name is not allowed") if $job{N} eq "bad";
#         jsv_sub_add_param("l_hard", "h_rt", 3600) unless exists $job{l_hard}{h_rt};
#         jsv_correct("a run time was set");                     # or jsv_accept, jsv_reject_wait
#     });
#     jsv_main();
#
# Parameters are named as in sge_submit(1). Lists are hashes, name => value, undef where there is none.
package JSV;
use strict;
use warnings;
use Exporter qw(import);

our @EXPORT = qw(jsv_on_start jsv_on_verify jsv_main jsv_get_param_hash jsv_get_env_hash jsv_set_param jsv_del_param
    jsv_sub_add_param jsv_sub_del_param jsv_is_env jsv_get_env jsv_add_env jsv_mod_env jsv_del_env
    jsv_accept jsv_correct jsv_reject jsv_reject_wait);
our @EXPORT_OK = qw(jsv_is_param jsv_get_param jsv_sub_is_param jsv_sub_get_param jsv_show_params jsv_show_envs
    jsv_send_env jsv_log_info jsv_log_warning jsv_log_error);
our %EXPORT_TAGS = (ALL => [@EXPORT, @EXPORT_OK]);

my %LISTS = map { $_ => 1 } qw(ac hold_jid hold_jid_ad l_hard l_soft M masterq q_hard q_soft);
my ($on_start, $on_verify) = (sub { }, sub { jsv_accept() });
my (%params, %envs);

sub _say { print join(" ", grep { defined && length } @_), "\n" }

sub jsv_on_start { $on_start = shift }
sub jsv_on_verify { $on_verify = shift }

sub _items { my %items = map { my ($n, $v) = split /=/, $_, 2; ($n => $v) } split /,/, $params{$_[0]} // ""; return \%items }
sub _set_items {
    my ($name, $items) = @_;
    jsv_set_param($name, join ",", map { defined $items->{$_} ? "$_=$items->{$_}" : $_ } sort keys %$items);
}

sub jsv_get_param_hash { return map { $_ => $LISTS{$_} ? _items($_) : $params{$_} } keys %params }
sub jsv_is_param { return exists $params{$_[0]} }
sub jsv_get_param { return $params{$_[0]} }
sub jsv_set_param { my ($name, $value) = @_; $params{$name} = $value; _say("PARAM", $name, $value) }
sub jsv_del_param { my ($name) = @_; delete $params{$name}; _say("PARAM", $name) }
sub jsv_show_params { jsv_log_info("got param $_=$params{$_}") for sort keys %params }
sub jsv_sub_is_param { return exists _items($_[0])->{$_[1]} }
sub jsv_sub_get_param { return _items($_[0])->{$_[1]} }
sub jsv_sub_add_param { my ($list, $name, $value) = @_; my $items = _items($list); $items->{$name} = $value; _set_items($list, $items) }
sub jsv_sub_del_param { my ($list, $name) = @_; my $items = _items($list); delete $items->{$name}; _set_items($list, $items) }

sub jsv_send_env { _say("SEND ENV") }
sub jsv_get_env_hash { return %envs }
sub jsv_is_env { return exists $envs{$_[0]} }
sub jsv_get_env { return $envs{$_[0]} }
sub jsv_add_env { my ($name, $value) = @_; $envs{$name} = $value; _say("ENV ADD", $name, $value) }
sub jsv_mod_env { my ($name, $value) = @_; $envs{$name} = $value; _say("ENV MOD", $name, $value) }
sub jsv_del_env { my ($name) = @_; delete $envs{$name}; _say("ENV DEL", $name) }
sub jsv_show_envs { jsv_log_info("got env $_=$envs{$_}") for sort keys %envs }

sub jsv_accept { _say("RESULT STATE ACCEPT", @_) }
sub jsv_correct { _say("RESULT STATE CORRECT", @_) }
sub jsv_reject { _say("RESULT STATE REJECT", @_) }
sub jsv_reject_wait { _say("RESULT STATE REJECT_WAIT", @_) }
sub jsv_log_info { _say("LOG INFO", @_) }
sub jsv_log_warning { _say("LOG WARNING", @_) }
sub jsv_log_error { _say("LOG ERROR", @_) }

sub jsv_main {
    local $| = 1;
    while (my $line = <STDIN>) {
        chomp $line;
        if ($line eq "START") { %params = %envs = (); $on_start->(); _say("STARTED") }
        elsif ($line =~ /^PARAM (\S+) ?(.*)$/s) { $params{$1} = $2 }
        elsif ($line =~ /^ENV ADD (\S+) ?(.*)$/s) { $envs{$1} = $2 }
        elsif ($line eq "BEGIN") { $on_verify->() }
        elsif ($line eq "QUIT") { return }
    }
}

1;
