# Helper procedures for job submission verifiers in Tcl. A verifier sources this file, defines jsv_on_start and
# jsv_on_verify and calls jsv_main:
#
#     #!/usr/bin/env tclsh
#     source "$env(SGE_ROOT)/util/resources/jsv/jsv_include.tcl"
#     proc jsv_on_start {} {}                                    ;# jsv_send_env here to be sent the job's environment
#     proc jsv_on_verify {} {
#         if {[jsv_get_param N] eq "bad"} { jsv_reject "this name is not allowed"; return }
#         if {![jsv_sub_is_param l_hard h_rt]} { jsv_sub_add_param l_hard h_rt 3600 }
#         jsv_correct "a run time was set"                       ;# or jsv_accept, jsv_reject_wait
#     }
#     jsv_main
#
# Parameters are named as in sge_submit(1); what is not there is the empty text.
array set _jsv_params {}
array set _jsv_envs {}

proc _jsv_say {args} { puts [string trimright [join $args " "]]; flush stdout }
proc _jsv_value {list name} { upvar #0 $list all; if {[info exists all($name)]} { return $all($name) }; return "" }
proc _jsv_show {list what} {
    upvar #0 $list all
    foreach name [lsort [array names all]] { jsv_log_info "got $what $name=$all($name)" }
}

proc jsv_clear_params {} { array unset ::_jsv_params; array set ::_jsv_params {} }
proc jsv_clear_envs {} { array unset ::_jsv_envs; array set ::_jsv_envs {} }
proc jsv_show_params {} { _jsv_show _jsv_params param }
proc jsv_show_envs {} { _jsv_show _jsv_envs env }

proc jsv_is_param {name} { info exists ::_jsv_params($name) }
proc jsv_get_param {name} { _jsv_value _jsv_params $name }
proc jsv_set_param {name value} { set ::_jsv_params($name) $value; _jsv_say PARAM $name $value }
proc jsv_del_param {name} { unset -nocomplain ::_jsv_params($name); _jsv_say PARAM $name }

# Lists such as l_hard or ac: name=value between commas.
proc _jsv_name {item} { lindex [split $item =] 0 }
proc _jsv_others {list name} {
    set others {}
    foreach item [split [jsv_get_param $list] ,] { if {[_jsv_name $item] ne $name} { lappend others $item } }
    return $others
}
proc jsv_sub_is_param {list name} {
    foreach item [split [jsv_get_param $list] ,] { if {[_jsv_name $item] eq $name} { return 1 } }
    return 0
}
proc jsv_sub_get_param {list name} {
    foreach item [split [jsv_get_param $list] ,] {
        if {[_jsv_name $item] eq $name} { return [join [lrange [split $item =] 1 end] =] }
    }
    return ""
}
proc jsv_sub_add_param {list name {value ""}} {
    set item $name
    if {$value ne ""} { append item = $value }
    jsv_set_param $list [join [concat [_jsv_others $list $name] [list $item]] ,]
}
proc jsv_sub_del_param {list name} { jsv_set_param $list [join [_jsv_others $list $name] ,] }

proc jsv_send_env {args} { _jsv_say SEND ENV }
proc jsv_is_env {name} { info exists ::_jsv_envs($name) }
proc jsv_get_env {name} { _jsv_value _jsv_envs $name }
proc jsv_add_env {name value} { set ::_jsv_envs($name) $value; _jsv_say ENV ADD $name $value }
proc jsv_mod_env {name value} { set ::_jsv_envs($name) $value; _jsv_say ENV MOD $name $value }
proc jsv_del_env {name} { unset -nocomplain ::_jsv_envs($name); _jsv_say ENV DEL $name }

proc jsv_accept {args} { _jsv_say RESULT STATE ACCEPT {*}$args }
proc jsv_correct {args} { _jsv_say RESULT STATE CORRECT {*}$args }
proc jsv_reject {args} { _jsv_say RESULT STATE REJECT {*}$args }
proc jsv_reject_wait {args} { _jsv_say RESULT STATE REJECT_WAIT {*}$args }
proc jsv_log_info {args} { _jsv_say LOG INFO {*}$args }
proc jsv_log_warning {args} { _jsv_say LOG WARNING {*}$args }
proc jsv_log_error {args} { _jsv_say LOG ERROR {*}$args }

proc jsv_main {} {
    while {[gets stdin line] >= 0} {
        switch -regexp -matchvar found -- $line {
            {^START$} { jsv_clear_params; jsv_clear_envs; jsv_on_start; _jsv_say STARTED }
            {^PARAM (\S+) ?(.*)$} { set ::_jsv_params([lindex $found 1]) [lindex $found 2] }
            {^ENV ADD (\S+) ?(.*)$} { set ::_jsv_envs([lindex $found 1]) [lindex $found 2] }
            {^BEGIN$} { jsv_on_verify }
            {^QUIT$} { return }
        }
    }
}
