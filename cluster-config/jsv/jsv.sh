#!/bin/sh
# Helper functions for job submission verifiers in POSIX shell. A verifier sources this file, defines jsv_on_start and
# jsv_on_verify and calls jsv_main:
#
#     #!/bin/sh
#     . "$SGE_ROOT/util/resources/jsv/jsv_include.sh"
#     jsv_on_start() { :; }                       # call jsv_send_env here to be sent the job's environment
#     jsv_on_verify() {
#         if [ "$(jsv_get_param N)" = bad ]; then jsv_reject "this name is not allowed"; return; fi
#         jsv_sub_add_param l_hard h_rt 3600
#         jsv_correct "a run time was set"         # or jsv_accept, jsv_reject_wait
#     }
#     jsv_main
#
# Parameters are named as in sge_submit(1). A value is kept as it came; no value is ever evaluated by the shell.

_jsv_tab=$(printf '\t')
_jsv_params=""   # lines: name TAB value, as on the wire
_jsv_envs=""

_jsv_find() { # list name: the value, status 1 if there is none
    printf '%s\n' "$1" | while IFS="$_jsv_tab" read -r _name _value; do
        if [ "$_name" = "$2" ]; then printf '%s\n' "$_value"; return 3; fi
    done
    [ $? -eq 3 ]
}

_jsv_without() { # list name: the list without the name
    printf '%s\n' "$1" | while IFS="$_jsv_tab" read -r _name _value; do
        if [ -n "$_name" ] && [ "$_name" != "$2" ]; then printf '%s\t%s\n' "$_name" "$_value"; fi
    done
}

_jsv_say() { printf '%s\n' "$*"; }

jsv_is_param() { _jsv_find "$_jsv_params" "$1" >/dev/null && echo true || echo false; }
jsv_get_param() { _jsv_find "$_jsv_params" "$1" || :; }
jsv_set_param() {
    _jsv_params=$(_jsv_without "$_jsv_params" "$1"; printf '%s\t%s\n' "$1" "$2")
    _jsv_say "PARAM $1 $2"
}
jsv_del_param() {
    _jsv_params=$(_jsv_without "$_jsv_params" "$1")
    _jsv_say "PARAM $1"
}
jsv_show_params() {
    printf '%s\n' "$_jsv_params" | while IFS="$_jsv_tab" read -r _name _value; do
        [ -z "$_name" ] || jsv_log_info "got param $_name=$_value"
    done
}
jsv_clear_params() { _jsv_params=""; }
jsv_clear_envs() { _jsv_envs=""; }
jsv_show_envs() {
    printf '%s\n' "$_jsv_envs" | while IFS="$_jsv_tab" read -r _name _value; do
        [ -z "$_name" ] || jsv_log_info "got env $_name=$_value"
    done
}

# Lists such as l_hard or ac: name=value between commas.
_jsv_items() { jsv_get_param "$1" | tr ',' '\n'; }
jsv_sub_is_param() {
    _jsv_items "$1" | while read -r _item; do [ "${_item%%=*}" = "$2" ] && return 3; done
    if [ $? -eq 3 ]; then echo true; else echo false; fi
}
jsv_sub_get_param() {
    _jsv_items "$1" | while read -r _item; do
        if [ "${_item%%=*}" = "$2" ]; then
            case $_item in *=*) printf '%s\n' "${_item#*=}" ;; esac
            break
        fi
    done
}
_jsv_other_items() {
    _jsv_items "$1" | while read -r _item; do
        if [ -n "$_item" ] && [ "${_item%%=*}" != "$2" ]; then printf '%s,' "$_item"; fi
    done
}
jsv_sub_add_param() {
    _others=$(_jsv_other_items "$1" "$2")
    jsv_set_param "$1" "$_others$2${3:+=$3}"
}
jsv_sub_del_param() {
    _others=$(_jsv_other_items "$1" "$2")
    jsv_set_param "$1" "${_others%,}"
}

jsv_send_env() { _jsv_say "SEND ENV"; }
jsv_is_env() { _jsv_find "$_jsv_envs" "$1" >/dev/null && echo true || echo false; }
jsv_get_env() { _jsv_find "$_jsv_envs" "$1" || :; }
_jsv_keep_env() { _jsv_envs=$(_jsv_without "$_jsv_envs" "$1"; printf '%s\t%s\n' "$1" "$2"); }
jsv_add_env() { _jsv_keep_env "$1" "$2"; _jsv_say "ENV ADD $1 $2"; }
jsv_mod_env() { _jsv_keep_env "$1" "$2"; _jsv_say "ENV MOD $1 $2"; }
jsv_del_env() { _jsv_envs=$(_jsv_without "$_jsv_envs" "$1"); _jsv_say "ENV DEL $1"; }

jsv_accept() { _jsv_say "RESULT STATE ACCEPT $*"; }
jsv_correct() { _jsv_say "RESULT STATE CORRECT $*"; }
jsv_reject() { _jsv_say "RESULT STATE REJECT $*"; }
jsv_reject_wait() { _jsv_say "RESULT STATE REJECT_WAIT $*"; }
jsv_log_info() { _jsv_say "LOG INFO $*"; }
jsv_log_warning() { _jsv_say "LOG WARNING $*"; }
jsv_log_error() { _jsv_say "LOG ERROR $*"; }

jsv_main() {
    while IFS= read -r _line; do
        case $_line in
            START)
                _jsv_params="" _jsv_envs=""
                jsv_on_start
                _jsv_say STARTED
                ;;
            "PARAM "*)
                _rest=${_line#PARAM }
                _jsv_params="$_jsv_params
${_rest%% *}$_jsv_tab${_rest#* }"
                ;;
            "ENV ADD "*)
                _rest=${_line#ENV ADD }
                _jsv_envs="$_jsv_envs
${_rest%% *}$_jsv_tab${_rest#* }"
                ;;
            BEGIN) jsv_on_verify ;;
            QUIT) return 0 ;;
        esac
    done
}
