"""The scheduler configuration and the global and local configurations."""

import pytest

from gridengine.config import KINDS
from gridengine.config.configuration import Configuration
from gridengine.config.parameters import parse_parameters
from gridengine.config.scheduler import Scheduler
from gridengine.errors import ConfigError
from gridengine.syntax.object_file import format_object, parse


def scheduler(attribute: str, text: str) -> str:
    return Scheduler.from_attributes({**Scheduler.template().attributes(), attribute: text}).attributes()[attribute]


@pytest.mark.statement("SC-1", "X-19", "PR-2")
def test_the_default_scheduler_configuration() -> None:
    text = format_object("scheduler", Scheduler.template().attributes())
    assert text.startswith("algorithm                         default\nschedule_interval                 0:0:15\n")
    assert [line.split() for line in text.split("\n") if line.startswith(("weight_t", "weight_u", "weight_p"))] == [
        ["weight_user", "0.250000"],
        ["weight_project", "0.250000"],
        ["weight_tickets_functional", "0"],
        ["weight_tickets_share", "0"],
        ["weight_ticket", "0.010000"],
        ["weight_urgency", "0.100000"],
        ["weight_priority", "1.000000"],
    ]
    assert len(Scheduler.model_fields) == 35
    assert Scheduler.parse(parse(text)).attributes() == Scheduler.template().attributes()


@pytest.mark.statement("SC-1", "SC-2", "SC-3", "SC-4", "SC-5", "SC-6", "SC-7", "SC-11", "LS-6", "LS-7", "PR-7", "PR-8")
@pytest.mark.parametrize(
    ("attribute", "text", "printed"),
    [
        ("schedule_interval", "0", "0"),
        ("queue_sort_method", "SEQNO", "seqno"),
        ("job_load_adjustments", "np_load_avg=0.50,load_avg=1", "np_load_avg=0.50,load_avg=1"),
        ("job_load_adjustments", "none", "NONE"),
        ("load_formula", "np_load_avg*2+load_avg", "np_load_avg*2+load_avg"),
        ("load_formula", "-slots", "-slots"),
        ("schedd_job_info", "job_list 1,2", "job_list 1,2"),
        ("schedd_job_info", "TRUE", "true"),
        ("params", "PROFILE=1,MONITOR=1 JC_FILTER=true", "PROFILE=1,MONITOR=1,JC_FILTER=true"),
        ("params", "NONE", "none"),
        ("halftime", "24", "24"),
        ("usage_weight_list", "cpu=1,mem=0.5", "cpu=1.000000,mem=0.500000"),
        ("weight_urgency", "1e3", "1000.000000"),
        ("share_override_tickets", "0", "FALSE"),
        ("halflife_decay_list", "cpu=120:mem=-1", "cpu=120:mem=-1"),
        ("policy_hierarchy", "SOF", "SOF"),
        ("policy_hierarchy", "none", "NONE"),
        ("max_reservation", "10", "10"),
        ("default_duration", "8760:0:0", "8760:0:0"),
        ("flush_submit_sec", "1", "1"),
    ],
)
def test_scheduler_values_that_are_accepted(attribute: str, text: str, printed: str) -> None:
    assert scheduler(attribute, text) == printed
    assert scheduler(attribute, printed) == printed


@pytest.mark.statement("SC-1", "LS-7")
@pytest.mark.parametrize(
    ("attribute", "text"),
    [
        ("algorithm", "foo"),
        ("schedule_interval", "abc"),
        ("schedule_interval", "INFINITY"),
        ("maxujobs", "-1"),
        ("queue_sort_method", "foo"),
        ("job_load_adjustments", "np_load_avg"),
        ("load_formula", "none"),
        ("load_formula", "np_load_avg*x"),
        ("schedd_job_info", "maybe"),
        ("schedd_job_info", "job_list"),
        ("params", "FOO=1"),
        ("params", "DURATION_OFFSET=x"),
        ("params", "PE_RANGE_ALG=foo"),
        ("halftime", "abc"),
        ("usage_weight_list", "foo=1"),
        ("weight_user", "abc"),
        ("weight_priority", ""),
        ("weight_tickets_functional", "1.5"),
        ("share_functional_shares", "x"),
        ("halflife_decay_list", "foo=3"),
        ("halflife_decay_list", "cpu=1,mem=2"),
        ("policy_hierarchy", "XYZ"),
        ("policy_hierarchy", "OO"),
        ("max_reservation", "-1"),
        ("default_duration", "abc"),
        ("default_duration", "0:0:0"),
        ("max_pending_tasks_per_job", "0"),
        ("load_adjustment_decay_time", "INFINITY"),
    ],
)
def test_scheduler_values_that_are_refused(attribute: str, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        scheduler(attribute, text)
    assert caught.value.attribute == attribute


@pytest.mark.statement("SC-1")
def test_an_incomplete_scheduler_configuration_is_refused() -> None:
    attributes = Scheduler.template().attributes()
    del attributes["weight_user"]
    with pytest.raises(ConfigError, match='"weight_user": the attribute is missing'):
        Scheduler.from_attributes(attributes)
    formula = Scheduler.from_attributes({**Scheduler.template().attributes(), "load_formula": "slots-cpu"})
    assert {("complex", "slots"), ("complex", "cpu")} <= set(formula.references())


def configuration(attribute: str, text: str) -> str:
    attributes = {**Configuration.template().attributes(), attribute: text}
    return Configuration.from_attributes(attributes, name="global").attributes()[attribute]


@pytest.mark.statement("GC-1")
def test_the_global_configuration() -> None:
    text = format_object("configuration", Configuration.template().attributes(), name="global")
    lines = text.split("\n")
    assert lines[0] == "#global:"
    assert lines[27:31] == [
        "execd_params                 none",
        "reporting_params             accounting=true reporting=false \\",
        "                             flush_time=00:00:15 joblog=false sharelog=00:00:00",
        "finished_jobs                100",
    ]
    assert lines[-3:] == ["jsv_allowed_mod              ac,h,i,e,o,j,M,N,p,w", "", ""]
    assert Configuration.parse(parse(text)).attributes() == Configuration.template().attributes()
    assert (Configuration.template().load_report_time, Configuration.template().max_unheard) == ("00:00:40", "00:05:00")


@pytest.mark.statement("GC-1")
def test_missing_parameters_have_their_defaults() -> None:
    made = Configuration.parse(parse("max_u_jobs 3\n"), name="global")
    assert made.attributes() == {**Configuration.template().attributes(), "max_u_jobs": "3"}
    assert "max_advance_reservations" not in made.attributes()
    assert configuration("max_advance_reservations", "5") == "5"


@pytest.mark.statement("GC-1", "GC-3", "GC-4", "US-5", "US-6", "US-7", "IA-5")
@pytest.mark.parametrize(
    ("attribute", "text", "printed"),
    [
        ("loglevel", "LOG_INFO", "log_info"),
        ("enforce_user", "AUTO", "auto"),
        ("enforce_user", "TRUE", "true"),
        ("enforce_project", "1", "true"),
        ("gid_range", "20000-20100,30000-30100", "20000-20100,30000-30100"),
        ("prolog", "NONE", "none"),
        ("prolog", "root@/opt/prolog $job_id", "root@/opt/prolog $job_id"),
        ("user_lists", "arusers,deadlineusers", "arusers,deadlineusers"),
        ("projects", "NONE", "none"),
        ("max_unheard", "300", "300"),
        ("qmaster_params", "MONITOR_TIME=0:0:10,jsv_timeout=5", "MONITOR_TIME=0:0:10,jsv_timeout=5"),
        ("execd_params", "KEEP_ACTIVE=true,USE_CGROUPS=yes", "KEEP_ACTIVE=true,USE_CGROUPS=yes"),
        ("jsv_url", "script:admin@/opt/jsv", "script:admin@/opt/jsv"),
        ("reprioritize", "true", "1"),
        ("rlogin_command", "NONE", "none"),
        ("qlogin_command", "/usr/bin/ssh -X", "/usr/bin/ssh -X"),
        ("login_shells", "sh, bash", "sh,bash"),
        ("administrator_mail", "a@b,c@d", "a@b,c@d"),
        ("auto_user_default_project", "p1", "p1"),
        ("shepherd_cmd", "NONE", "none"),
    ],
)
def test_configuration_values_that_are_accepted(attribute: str, text: str, printed: str) -> None:
    assert configuration(attribute, text) == printed
    assert configuration(attribute, printed) == printed


@pytest.mark.statement("GC-1")
@pytest.mark.parametrize(
    ("attribute", "text"),
    [
        ("loglevel", "foo"),
        ("enforce_user", "maybe"),
        ("gid_range", "5-10"),
        ("gid_range", "abc"),
        ("min_uid", "-1"),
        ("mailer", "mail"),
        ("administrator_mail", "a@b,|/bin/x"),
        ("prolog", "foo"),
        ("prolog", "/bin/x $foo"),
        ("prolog", "/bin/x $job_pid"),
        ("epilog", "/bin/x $job_pid"),
        ("max_unheard", "abc"),
        ("load_report_time", "INFINITY"),
        ("jsv_url", "foo"),
        ("jsv_url", "tcl:/opt/jsv"),
        ("jsv_url", "script:"),
        ("max_u_jobs", "abc"),
        ("delegated_file_staging", "maybe"),
        ("qlogin_daemon", "none"),
        ("shell_start_mode", "foo"),
        ("xterm", "none"),
        ("execd_spool_dir", "relative"),
        ("reporting_params", "accounting="),
        ("reporting_params", "reporting=maybe"),
        ("reporting_params", "flush_time=soon"),
        ("reporting_params", "accounting_flush_time=0:0"),
        ("reporting_params", "reporting=true sharelog=INFINITY"),
        ("foo", "bar"),
    ],
)
def test_configuration_values_that_are_refused(attribute: str, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        configuration(attribute, text)
    assert caught.value.attribute == attribute


@pytest.mark.statement("AC-4", "RP-2")
@pytest.mark.parametrize("text", ["accounting_flush_time=0", "accounting_flush_time=00:00:00 flush_time=15", "FLUSH_TIME=0:0:30"])
def test_times_of_flushing_are_kept_as_they_were_written(text: str) -> None:
    assert configuration("reporting_params", text) == text


def test_a_parameter_that_cannot_be_read_is_named() -> None:
    with pytest.raises(ConfigError, match='flush_time: .*"soon"'):
        configuration("reporting_params", "reporting=true flush_time=soon")


@pytest.mark.statement("GC-1")
def test_a_local_configuration_holds_what_it_overrides() -> None:
    local = Configuration.parse(parse("mailer /bin/mail\nload_report_time 0:0:10\n"), name="g3")
    assert local.object_name == "g3" and not local.is_global
    assert local.attributes() == {"mailer": "/bin/mail", "load_report_time": "0:0:10"}
    assert local.references() == []
    for line in ("min_uid 5", "loglevel log_info", "enforce_user true", "max_u_jobs 3", "jsv_url none"):
        with pytest.raises(ConfigError, match="only the global configuration"):
            Configuration.parse(parse(line), name="g3")
    with pytest.raises(ConfigError, match="unknown"):
        Configuration.parse(parse("foo bar"), name="g3")


@pytest.mark.statement("GC-3")
def test_unknown_parameters_are_kept_with_a_warning() -> None:
    warnings: list[str] = []
    made = Configuration.parse(parse("qmaster_params Foo=1,gdi_timeout=5\n"), warnings=warnings)
    assert made.qmaster_params == "Foo=1,gdi_timeout=5"
    assert warnings == ['qmaster_params: the parameter "Foo" is unknown and has no effect']
    assert parse_parameters(made.qmaster_params) == {"FOO": "1", "GDI_TIMEOUT": "5"}


@pytest.mark.statement("US-6")
def test_references_of_a_configuration() -> None:
    made = Configuration.parse(parse("user_lists a,b\nprojects p\nauto_user_default_project q\n"))
    assert set(made.references()) == {("userset", "a"), ("userset", "b"), ("project", "p"), ("project", "q")}


def test_every_kind_has_a_name_and_an_interface() -> None:
    for kind, model in KINDS.items():
        assert model.kind == kind
        assert model.key in ("", *model.model_fields)
        assert list(model.attribute_types()) == list(model.model_fields)
