"""Output of qconf -s… in the default cell, text by text as the real 8.1.9 prints it for the same objects.

Values that a new cell has of its own (docs/parity.md) stand here as this system ships them; names, order, columns,
empty lines, streams and exit statuses are the original's.
"""

from __future__ import annotations

import pytest

from tests.unit.clients.shell import Shell

COMPLEXES = """
arch a STRING == YES NO NONE 0 | calendar c STRING == YES NO NONE 0 | cgroups cg STRING == YES NO NONE 0
cpu cpu DOUBLE >= YES NO 0 0
display_win_gui dwg BOOL == YES NO 0 0 | h_core h_core MEMORY <= YES NO 0 0 | h_cpu h_cpu TIME <= YES NO 0:0:0 0
h_data h_data MEMORY <= YES NO 0 0 | h_fsize h_fsize MEMORY <= YES NO 0 0 | h_rss h_rss MEMORY <= YES NO 0 0
h_rt h_rt TIME <= YES NO 0:0:0 0 | h_stack h_stack MEMORY <= YES NO 0 0 | h_vmem h_vmem MEMORY <= YES NO 0 0
hostname h HOST == YES NO NONE 0 | load_avg la DOUBLE >= NO NO 0 0 | load_long ll DOUBLE >= NO NO 0 0
load_medium lm DOUBLE >= NO NO 0 0 | load_short ls DOUBLE >= NO NO 0 0 | m_core core INT <= YES NO 0 0
m_socket socket INT <= YES NO 0 0 | m_thread thread INT <= YES NO 0 0 | m_topology topo STRING == YES NO NONE 0
m_topology_inuse utopo STRING == YES NO NONE 0 | mem_free mf MEMORY <= YES NO 0 0 | mem_total mt MEMORY <= YES NO 0 0
mem_used mu MEMORY >= YES NO 0 0 | min_cpu_interval mci TIME <= NO NO 0:0:0 0 | np_load_avg nla DOUBLE >= NO NO 0 0
np_load_long nll DOUBLE >= NO NO 0 0 | np_load_medium nlm DOUBLE >= NO NO 0 0 | np_load_short nls DOUBLE >= NO NO 0 0
num_proc p INT == YES NO 0 0 | qname q STRING == YES NO NONE 0 | rerun re BOOL == NO NO 0 0
s_core s_core MEMORY <= YES NO 0 0 | s_cpu s_cpu TIME <= YES NO 0:0:0 0 | s_data s_data MEMORY <= YES NO 0 0
s_fsize s_fsize MEMORY <= YES NO 0 0 | s_rss s_rss MEMORY <= YES NO 0 0 | s_rt s_rt TIME <= YES NO 0:0:0 0
s_stack s_stack MEMORY <= YES NO 0 0 | s_vmem s_vmem MEMORY <= YES NO 0 0 | seq_no seq INT == NO NO 0 0
slots s INT <= YES YES 1 1000 | swap_free sf MEMORY <= YES NO 0 0 | swap_rate sr MEMORY >= YES NO 0 0
swap_rsvd srsv MEMORY >= YES NO 0 0 | swap_total st MEMORY <= YES NO 0 0 | swap_used su MEMORY >= YES NO 0 0
tmpdir tmp STRING == NO NO NONE 0 | virtual_free vf MEMORY <= YES NO 0 0 | virtual_total vt MEMORY <= YES NO 0 0
virtual_used vu MEMORY >= YES NO 0 0
"""
QUEUE = """
qname {name} | hostlist {hostlist} | seq_no 0 | load_thresholds {thresholds} | suspend_thresholds NONE | nsuspend 1
suspend_interval 00:05:00 | priority 0 | min_cpu_interval 00:05:00 | processors UNDEFINED | qtype BATCH INTERACTIVE
ckpt_list NONE | pe_list make smp mpi | rerun FALSE | slots {slots} | tmpdir /tmp | shell /bin/sh | prolog NONE
epilog NONE | shell_start_mode posix_compliant | starter_method NONE | suspend_method NONE | resume_method NONE
terminate_method NONE | notify 00:00:60 | owner_list NONE | user_lists NONE | xuser_lists NONE | subordinate_list NONE
complex_values NONE | projects NONE | xprojects NONE | calendar NONE | initial_state default | s_rt INFINITY
h_rt INFINITY | s_cpu INFINITY | h_cpu INFINITY | s_fsize INFINITY | h_fsize INFINITY | s_data INFINITY
h_data INFINITY | s_stack INFINITY | h_stack INFINITY | s_core INFINITY | h_core INFINITY | s_rss INFINITY
h_rss INFINITY | s_vmem INFINITY | h_vmem INFINITY
"""
ENVIRONMENT = """
pe_name {name} | slots {slots} | user_lists NONE | xuser_lists NONE | start_proc_args NONE | stop_proc_args NONE
allocation_rule {rule} | control_slaves TRUE | job_is_first_task {first} | urgency_slots min
accounting_summary {summary} | qsort_args NONE
"""
SCHEDULER = """
algorithm default | schedule_interval 0:0:15 | maxujobs 0 | queue_sort_method load
job_load_adjustments np_load_avg=0.50 | load_adjustment_decay_time 0:7:30 | load_formula np_load_avg
schedd_job_info true | flush_submit_sec 0 | flush_finish_sec 0 | params none | reprioritize_interval 0:0:0
halftime 168 | usage_weight_list cpu=1.000000,mem=0.000000,io=0.000000 | compensation_factor 5.000000
weight_user 0.250000 | weight_project 0.250000 | weight_department 0.250000 | weight_job 0.250000
weight_tickets_functional 0 | weight_tickets_share 0 | share_override_tickets TRUE | share_functional_shares TRUE
max_functional_jobs_to_schedule 200 | report_pjob_tickets TRUE | max_pending_tasks_per_job 50
halflife_decay_list none | policy_hierarchy OFS | weight_ticket 0.010000 | weight_waiting_time 0.000000
weight_deadline 3600000.000000 | weight_urgency 0.100000 | weight_priority 1.000000 | max_reservation 0
default_duration INFINITY
"""
CONFIGURATION = """
execd_spool_dir /var/spool/gridengine/execd | mailer /usr/bin/mail | xterm /usr/bin/xterm | load_sensor none
prolog none | epilog none | shell_start_mode posix_compliant | login_shells bash,sh,ksh,csh,tcsh | min_uid 0 | min_gid 0
user_lists none | xuser_lists none | projects none | xprojects none | enforce_project false | enforce_user auto
load_report_time 00:00:40 | max_unheard 00:05:00 | reschedule_unknown 00:00:00 | loglevel log_warning
administrator_mail root | set_token_cmd none | pag_cmd none | token_extend_time none | shepherd_cmd none
qmaster_params none | execd_params ENABLE_CGROUPS=true
reporting_params accounting=true reporting=false \\
+flush_time=00:00:15 joblog=false sharelog=00:00:00 | finished_jobs 100 | gid_range 65400-65500
qlogin_command builtin | qlogin_daemon builtin | rlogin_command builtin | rlogin_daemon builtin | rsh_command builtin
rsh_daemon builtin | max_aj_instances 2000 | max_aj_tasks 75000 | max_u_jobs 0 | max_jobs 0 | auto_user_oticket 0
auto_user_fshare 0 | auto_user_default_project none | auto_user_delete_time 86400 | delegated_file_staging false
reprioritize 0 | jsv_url none | jsv_allowed_mod ac,h,i,e,o,j,M,N,p,w
"""
HOST = """
hostname {name} | load_scaling NONE | complex_values NONE | load_values {values} | processors {processors}
user_lists NONE | xuser_lists NONE | projects NONE | xprojects NONE | usage_scaling NONE | report_variables NONE
"""
USERSET = "name {name} | type {type} | fshare 0 | oticket 0 | entries NONE"


def pairs(width: int, text: str, **values: str) -> str:
    """The lines of an object: names in a column of `width`; a line that begins with + goes on below the values."""
    lines = []
    for line in (part.strip() for row in text.strip().split("\n") for part in row.split(" | ")):
        name, _, value = line.partition(" ")
        lines.append(" " * width + line[1:] if line[0] == "+" else f"{name:<{width}}{value.format(**values)}")
    return "\n".join(lines) + "\n"


def queue(name: str, hostlist: str, thresholds: str, slots: str) -> str:
    return pairs(22, QUEUE, name=name, hostlist=hostlist, thresholds=thresholds, slots=slots)


def environment(name: str, slots: str, rule: str, first: str, summary: str) -> str:
    return pairs(19, ENVIRONMENT, name=name, slots=slots, rule=rule, first=first, summary=summary)


def complexes() -> str:
    """The table: eight columns, two lines above and one below."""
    lines = ["#name               shortcut   type      relop requestable consumable default  urgency ", "#" + "-" * 86]
    for row in COMPLEXES.replace("\n", " | ").strip(" |").split(" | "):
        cells = zip(row.split(), (20, 11, 10, 6, 12, 11, 9, 0), strict=True)
        lines.append("".join(f"{cell:<{width}}" for cell, width in cells))
    return "\n".join([*lines, "# >#< starts a comment but comments are not saved across edits --------", ""])


H1_VALUES = "arch=lx-amd64,num_proc=4,load_avg=0.1,np_load_avg=0.025, \\\n" + " " * 22 + "mem_free=8000.000000M"
SHOWN = {
    "-sc": complexes(),
    "-sq": queue("template", "NONE", "np_load_avg=1.75", "1"),
    "-sq all.q": queue("all.q", "@allhosts", "NONE", "4"),
    "-sp make": environment("make", "999", "$round_robin", "FALSE", "TRUE"),
    "-sp smp": environment("smp", "999", "$pe_slots", "TRUE", "TRUE"),
    "-sp mpi": environment("mpi", "99999", "$fill_up", "TRUE", "FALSE"),
    "-ssconf": pairs(34, SCHEDULER),
    "-sconf": "#global:\n" + pairs(29, CONFIGURATION) + "\n",
    "-sconf global": "#global:\n" + pairs(29, CONFIGURATION) + "\n",
    "-se global": pairs(22, HOST, name="global", values="NONE", processors="0"),
    "-se h1": pairs(22, HOST, name="h1", values=H1_VALUES, processors="4"),
    "-shgrp @allhosts": "group_name @allhosts\nhostlist h1 h2 h3\n",
    "-shgrp_tree @allhosts": "@allhosts\n   h1\n   h2\n   h3\n",
    "-shgrp_resolved @allhosts": "h1 h2 h3\n",
    "-su arusers": pairs(8, USERSET, name="arusers", type="ACL"),
    "-su deadlineusers": pairs(8, USERSET, name="deadlineusers", type="ACL"),
    "-su defaultdepartment": pairs(8, USERSET, name="defaultdepartment", type="DEPT"),
    "-sul": "arusers\ndeadlineusers\ndefaultdepartment\n",
    "-sql": "all.q\n",
    "-spl": "make\nmpi\nsmp\n",
    "-sel": "h1\nh2\nh3\n",
    "-sh": "h1\nh2\nh3\nmaster\n",
    "-ss": "h1\nh2\nh3\nmaster\n",
    "-sm": "root\n",
    "-shgrpl": "@allhosts\n",
    "-sss": "master\n",
    "-sds": "",
    "-sobjl queue qname nosuch": "",
    "-sobjl exechost hostname h*": "h1\nh2\nh3\n",
    "-secl": f"      ID NAME            HOST{' ' * 21}\n{'-' * 50}\n       1 scheduler       master{' ' * 19}\n",
}


@pytest.mark.statement("QF-12", "QF-13", "QF-16", "QF-17", "QF-18", "QF-20", "QF-23", "QF-24", "QF-25", "QF-26", "QF-30")
@pytest.mark.statement("QF-31", "QF-34", "HG-11", "CQ-27", "OB-3", "EV-10")
@pytest.mark.parametrize("option", SHOWN)
def test_each_showing_option_of_the_default_cell(shell: Shell, option: str) -> None:
    outcome = shell(f"qconf {option}")
    assert (outcome.out, outcome.err, outcome.status) == (SHOWN[option], "", 0)


NOT_THERE = {
    "-so": "no operator defined",
    "-suserl": "no user list defined",
    "-sprjl": "no project list defined",
    "-srqsl": "no resource quota set list defined",
    "-sckptl": "no ckpt interface definition defined",
    "-scall": "no calendar defined",
    "-sconfl": "no config defined",
    "-srqs": "No resource quota set found",
    "-sstree": "no sharetree element",
    "-sq x.q": 'No cluster queue or queue instance matches the phrase "x.q"',
    "-sp x": "x is not a parallel environment",
    "-sckpt x": "x is not a checkpointing interface definition",
    "-scal x": "x is not a calendar",
    "-sprj x": "x is not known as a project",
    "-suser x": "x is not known as a user",
    "-srqs x": "No resource quota set found",
    "-su x": 'denied: access list "x" does not exist',
    "-shgrp @x": 'Host group "@x" does not exist',
    "-shgrp_tree @x": 'Host group "@x" does not exist',
    "-shgrp_resolved @x": 'Host group "@x" does not exist',
    "-se x": 'can\'t resolve hostname "x"',
    "-sconf h1": "configuration h1 not defined",
}


@pytest.mark.statement("QF-12", "QF-17", "QF-20", "QF-21", "QF-22", "QF-27", "QF-28", "QF-29", "QF-38")
@pytest.mark.parametrize("option", NOT_THERE)
def test_unknown_objects_are_reported(shell: Shell, option: str) -> None:
    outcome = shell(f"qconf {option}")
    assert (outcome.out, outcome.err, outcome.status) == ("", f"{NOT_THERE[option]}\n", 1)


@pytest.mark.statement("QF-32")
@pytest.mark.parametrize("option", ["-sst", "-bonsai", "-sstnode /", "-rsstnode /x"])
def test_no_share_tree(shell: Shell, option: str) -> None:
    """The one thing that is missed without a failure."""
    outcome = shell(f"qconf {option}")
    assert (outcome.out, outcome.err, outcome.status) == ("", "No sharetree\n", 0)


@pytest.mark.statement("OB-2", "OB-1", "QF-38")
@pytest.mark.parametrize(
    ("shown", "replaced"),
    [
        ("-sq all.q", "-Mq"),
        ("-sp mpi", "-Mp"),
        ("-sc", "-Mc"),
        ("-shgrp @allhosts", "-Mhgrp"),
        ("-su arusers", "-Mu"),
        ("-ssconf", "-Msconf"),
        ("-sconf", "-Mconf"),
    ],
)
def test_the_output_of_a_showing_option_changes_nothing_as_input(shell: Shell, shown: str, replaced: str) -> None:
    text = shell(f"qconf {shown}").out
    (shell.cwd / "global").write_text(text)
    outcome = shell.as_root(f"qconf {replaced} global")
    assert (outcome.err, outcome.status) == ("", 0)
    assert shell(f"qconf {shown}").out == text
