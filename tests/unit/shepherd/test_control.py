"""Commands, notification and limits over time, without a process or a clock (QC-27, QC-29, RL-2 to RL-5, RL-9)."""

from __future__ import annotations

from signal import SIGCONT, SIGKILL, SIGSTOP, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU
from typing import Any

import pytest

from shepherd.control import Action, Control, Kill, Measure, Note, Renice, RunMethod, Signal, WriteUsage
from shepherd.methods import Method
from tests.unit.shepherd.configuration import config

DELETED = Kill("the job was to be deleted")


def control(**changes: Any) -> Control:
    """A control whose job has started at time 0."""
    found = Control(config(**changes))
    found.started(0.0)
    return found


def play(found: Control, *commands: tuple[float, str], until: float = 1000.0) -> list[tuple[float, Action]]:
    """Let time pass: give each command at its time and `due` at each deadline; all actions with their times."""
    seen: list[tuple[float, Action]] = []
    waiting = list(commands)
    while True:
        deadline = found.deadline()
        if waiting and (deadline is None or waiting[0][0] <= deadline):
            now, name = waiting.pop(0)
            seen += [(now, action) for action in found.command(name, now)]
        elif deadline is not None and deadline <= until:
            seen += [(deadline, action) for action in found.due(deadline)]
        else:
            return seen


@pytest.mark.statement("EX-6")
def test_without_limits_nothing_is_waited_for() -> None:
    assert control().deadline() is None


@pytest.mark.statement("PR-10")
def test_a_nice_value_that_comes_before_the_job() -> None:
    found = Control(config())
    found.command("nice=5", 0.0)
    found.command("suspend", 0.0)
    assert found.started(1.0) == [Renice(5), Signal(SIGSTOP)]


@pytest.mark.statement("EX-6", "QC-27", "QC-29", "SO-21", "RL-9")
@pytest.mark.parametrize(
    ("changes", "commands", "expected"),
    [
        ({}, [(1, "suspend")], [(1, Signal(SIGSTOP))]),
        ({}, [(1, "suspend"), (2, "suspend")], [(1, Signal(SIGSTOP))]),
        ({}, [(1, "suspend"), (2, "resume")], [(1, Signal(SIGSTOP)), (2, Signal(SIGCONT))]),
        ({"notify_s": 10}, [(1, "suspend")], [(1, Signal(SIGUSR1)), (11, Signal(SIGSTOP))]),
        ({"notify_s": 10}, [(1, "suspend"), (2, "resume")], [(1, Signal(SIGUSR1)), (2, Signal(SIGCONT))]),
        ({"notify_s": 10, "notify_susp": "none"}, [(1, "suspend")], [(1, Signal(SIGSTOP))]),
        ({}, [(1, "nice=-5"), (2, "suspend")], [(1, Renice(-5)), (2, Signal(SIGSTOP))]),
        ({}, [(1, "terminate")], [(1, DELETED)]),
        ({"notify_s": 10}, [(1, "terminate")], [(1, Signal(SIGUSR2)), (11, DELETED)]),
        ({"notify_s": 10}, [(1, "terminate"), (5, "terminate")], [(1, Signal(SIGUSR2)), (11, DELETED)]),
        ({"notify_s": 10, "notify_kill": "TERM"}, [(1, "terminate")], [(1, Signal(SIGTERM)), (11, DELETED)]),
        ({"notify_s": 10, "notify_kill": "NONE"}, [(1, "terminate")], [(1, DELETED)]),
        (
            {"notify_s": 10},
            [(1, "terminate"), (5, "kill")],
            [(1, Signal(SIGUSR2)), (5, DELETED)],
        ),
        (
            {"notify_s": 10, "notify_susp": "none"},
            [(1, "suspend"), (2, "terminate")],
            [(1, Signal(SIGSTOP)), (2, Signal(SIGCONT)), (2, Signal(SIGUSR2)), (12, DELETED)],
        ),
        ({"suspend_method": "SIGTSTP"}, [(1, "suspend")], [(1, Signal(20))]),
        ({"suspend_method": "/m"}, [(1, "suspend")], [(1, RunMethod("suspend_method"))]),
        ({"resume_method": "/m"}, [(1, "resume")], [(1, RunMethod("resume_method"))]),
        ({"notify_s": 10}, [(1, "suspend"), (5, "suspend")], [(1, Signal(SIGUSR1)), (11, Signal(SIGSTOP))]),
        ({"terminate_method": "/m"}, [(1, "terminate")], [(1, RunMethod("terminate_method")), (61, DELETED)]),
        ({"terminate_method": "/m"}, [(1, "terminate"), (5, "terminate")], [(1, RunMethod("terminate_method")), (61, DELETED)]),
        (
            {"terminate_method": "/m", "notify_s": 10, "queue_notify_s": 10},
            [(1, "terminate")],
            [(1, Signal(SIGUSR2)), (11, RunMethod("terminate_method")), (21, DELETED)],
        ),
        ({"terminate_method": "/m"}, [(1, "kill")], [(1, Kill("the job was killed on request"))]),
        ({"terminate_method": "15"}, [(1, "terminate")], [(1, Signal(SIGTERM)), (61, DELETED)]),
        ({}, [(1, "usr1"), (2, "SIGXCPU")], [(1, Signal(SIGUSR1)), (2, Signal(SIGXCPU))]),
        ({}, [(1, "usage")], [(1, WriteUsage())]),
    ],
)
def test_commands(
    changes: dict[str, Any], commands: list[tuple[float, str]], expected: list[tuple[float, Action]]
) -> None:
    assert play(control(**changes), *commands) == expected


def test_unknown_commands_are_noted() -> None:
    [action] = control().command("dance", 1)
    assert isinstance(action, Note) and "dance" in action.text
    notes = Control(config(suspend_method="freeze", notify_kill="x")).started(0)
    assert [isinstance(note, Note) for note in notes] == [True, True]


@pytest.mark.statement("RL-2", "RL-3")
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"limits": {"h_rt": None, "s_rt": None}}, []),
        ({"limits": {"h_rt": 5}}, [(5, Kill("limit h_rt of 5 s exceeded"))]),
        ({"limits": {"h_rt": 4.889342069625854}}, [(4.889342069625854, Kill("limit h_rt of 4.9 s exceeded"))]),
        ({"limits": {"h_rt": 5}, "notify_s": 2}, [(5, Signal(SIGUSR2)), (7, Kill("limit h_rt of 5 s exceeded"))]),
        (
            {"limits": {"s_rt": 5}, "queue_notify_s": 3},
            [(5, Signal(SIGUSR1)), (8, Kill("limit s_rt of 5 s exceeded"))],
        ),
        (
            {"limits": {"s_rt": 3, "h_rt": 5}},
            [(3, Signal(SIGUSR1)), (5, Kill("limit h_rt of 5 s exceeded"))],
        ),
        (
            {"limits": {"h_rt": 5}, "terminate_method": "SIGTERM", "queue_notify_s": 3},
            [(5, Signal(SIGTERM)), (8, Kill("limit h_rt of 5 s exceeded"))],
        ),
        (
            {"limits": {"h_rt": 5}, "terminate_method": "SIGTERM", "queue_notify_s": 3, "notify_s": 3},
            [(5, Signal(SIGUSR2)), (8, Signal(SIGTERM)), (11, Kill("limit h_rt of 5 s exceeded"))],
        ),
    ],
)
def test_time_limits(changes: dict[str, Any], expected: list[tuple[float, Action]]) -> None:
    found = control(**changes)
    assert play(found) == expected
    assert found.limit_enforced == ("h_rt" in found.end_reason)


@pytest.mark.statement("RL-2", "AC-2")
def test_a_job_that_is_being_deleted_exceeds_no_limit() -> None:
    found = control(limits={"h_rt": 5}, notify_s=3, queue_notify_s=9)
    assert play(found, (4, "terminate"))[-1] == (7, DELETED)
    assert not found.limit_enforced


@pytest.mark.statement("RL-3")
def test_a_suspended_job_is_continued_to_be_warned() -> None:
    found = control(limits={"s_rt": 5}, queue_notify_s=3)
    assert play(found, (1, "suspend"))[1:] == [
        (5, Signal(SIGCONT)),
        (5, Signal(SIGUSR1)),
        (8, Kill("limit s_rt of 5 s exceeded")),
    ]


@pytest.mark.statement("RL-3")
def test_a_job_that_dies_of_the_warning_of_a_soft_limit_has_died_of_that_limit() -> None:
    found = control(limits={"s_rt": 5, "s_cpu": 2}, queue_notify_s=30)
    assert found.death_reason(SIGUSR1) == ""
    found.due(6)
    found.measured(3.0, 0)
    assert found.death_reason(SIGUSR1) == "limit s_rt of 5 s exceeded" and found.end_reason == ""
    assert found.death_reason(SIGXCPU) == "limit s_cpu of 2 s exceeded"
    assert found.death_reason(SIGCONT) == ""
    found.command("terminate", 7)
    assert found.death_reason(SIGUSR1) == "the job was to be deleted"


@pytest.mark.statement("RL-2")
def test_a_limit_beyond_all_measure_is_as_good_as_none() -> None:
    found = control(limits={"h_rt": 10**400, "h_cpu": 1e300, "h_vmem": 10**30}, slots=4)
    assert found.due(1e9) == [Measure()]
    assert found.measured(1e9, 2**60) == []


@pytest.mark.statement("RL-2")
def test_h_rt_goes_on_while_suspended() -> None:
    found = control(limits={"h_rt": 5})
    assert play(found, (1, "suspend"))[-1] == (5, Kill("limit h_rt of 5 s exceeded"))


@pytest.mark.statement("RL-4", "RL-5", "RL-7")
@pytest.mark.parametrize(
    ("limits", "slots", "cpu", "vmem", "expected"),
    [
        ({"h_cpu": 10}, 1, 10.0, 0, []),
        ({"h_cpu": 10}, 1, 10.1, 0, [Kill("limit h_cpu of 10 s exceeded")]),
        ({"h_cpu": 10}, 2, 19.0, 0, []),
        ({"h_vmem": 100}, 2, 0.0, 201, [Kill("limit h_vmem of 100 bytes exceeded, killed at 201.0 of 200.0")]),
        ({"s_vmem": 100}, 1, 0.0, 101, [Note("limit s_vmem of 100 bytes exceeded"), Signal(SIGXCPU)]),
        ({"s_cpu": None, "h_cpu": None}, 1, 1e9, 2**60, []),
    ],
)
def test_measured_limits(
    limits: dict[str, float | None], slots: int, cpu: float, vmem: int, expected: list[Action]
) -> None:
    assert control(limits=limits, slots=slots).measured(cpu, vmem) == expected


@pytest.mark.statement("RL-4", "AC-2")
@pytest.mark.parametrize(
    ("changes", "cpu_s", "end_reason"),
    [
        ({"limits": {"h_cpu": 10}}, 9.7, "limit h_cpu of 10 s exceeded"),
        ({"limits": {"h_cpu": 10}, "slots": 2}, 9.7, ""),
        ({"limits": {"h_cpu": 10}}, 3, ""),
        ({"limits": {"h_rt": 10}}, 50, ""),
    ],
)
def test_a_job_that_the_kernel_killed_for_h_cpu(changes: dict[str, Any], cpu_s: float, end_reason: str) -> None:
    found = control(**changes)
    found.killed_by_unknown(cpu_s)
    assert (found.end_reason, found.limit_enforced) == (end_reason, bool(end_reason))


@pytest.mark.statement("RL-4")
def test_a_deleted_job_was_not_killed_for_its_cpu_time() -> None:
    found = control(limits={"h_cpu": 10})
    found.command("kill", 1.0)
    found.killed_by_unknown(11)
    assert (found.end_reason, found.limit_enforced) == ("the job was killed on request", False)


@pytest.mark.statement("RL-4")
def test_warning_comes_once_and_limits_of_the_job_are_not_multiplied() -> None:
    found = control(limits={"s_cpu": 1})
    assert len(found.measured(2, 0)) == 2
    assert found.measured(3, 0) == []
    whole = control(limits={"h_vmem": 100}, slots=5, per_job_limits=["h_vmem"])
    assert whole.measured(0, 101) == [Kill("limit h_vmem of 100 bytes exceeded, killed at 101.0 of 100.0")]


def test_measuring_happens_only_for_limits_that_need_it() -> None:
    found = control(limits={"h_cpu": 10}, pdc_interval_s=2)
    assert found.due(2.0) == [Measure()]
    assert found.deadline() == 4.0
    assert control(limits={"h_fsize": 1, "h_cpu": None}).deadline() is None


@pytest.mark.statement("EX-6")
def test_suspension_before_the_start_is_made_good() -> None:
    found = Control(config())
    assert found.command("suspend", 0.0) == [Signal(SIGSTOP)]
    assert found.started(1.0) == [Signal(SIGSTOP)]


@pytest.mark.statement("RL-2", "RL-3", "RL-4")
@pytest.mark.parametrize(
    ("changes", "earlier"),
    [
        ({"limits": {"h_rt": 8, "s_rt": 5}, "queue_notify_s": 3}, [5.0]),
        ({"limits": {"h_rt": 8, "h_cpu": 9}, "pdc_interval_s": 8}, []),
    ],
)
def test_actions_due_together_with_the_end_are_neither_missed_nor_done(changes: dict[str, Any], earlier: list[float]) -> None:
    found = control(**changes)
    for now in earlier:
        found.due(now)
    assert found.due(8.0) == [Kill("limit h_rt of 8 s exceeded")]
    assert found.deadline() is None


@pytest.mark.statement("RL-2", "RL-4")
def test_a_limit_that_is_exceeded_while_the_job_is_ended_for_another_changes_nothing() -> None:
    found = control(limits={"h_rt": 5, "h_cpu": 10}, terminate_method="TERM")
    assert Signal(SIGTERM) in found.due(5.0)
    assert found.measured(11, 0) == [Kill("limit h_rt of 5 s exceeded")]
    assert found.limit_enforced


@pytest.mark.statement("RL-5", "EX-6")
def test_a_job_loses_all_processes_when_the_kernel_has_killed_one_for_its_memory() -> None:
    found = control(limits={"h_vmem": 100})
    assert found.measured(0, 0, killed_at=0) == [Kill("limit h_vmem of 100 bytes exceeded, killed at 100.0 of 100.0")]
    assert found.limit_enforced


@pytest.mark.statement("RL-5", "EX-6")
def test_the_reason_has_the_memory_and_its_limit_at_the_kill() -> None:
    found = control(limits={"h_vmem": 2**30}, slots=4)
    assert found.measured(0, 0, killed_at=2**32 - 5) == [Kill("limit h_vmem of 1G exceeded, killed at 4.0G of 4G")]
    summed = control(limits={"h_vmem": 2**30})
    assert summed.measured(0, 3 * 2**29) == [Kill("limit h_vmem of 1G exceeded, killed at 1.5G of 1G")]


@pytest.mark.statement("EX-6")
@pytest.mark.parametrize(("limits", "at"), [({"h_vmem": 2**30}, 2**28), ({}, 2**28), ({}, 0)])
def test_a_job_that_the_host_had_no_memory_for_has_not_exceeded_its_limit(limits: dict[str, int], at: int) -> None:
    found = control(limits=limits)
    used = " at 256.0M" if at else ""
    reason = f"the host was out of memory: the kernel killed a process of the job{used}"
    assert found.measured(0, 0, killed_at=at) == [Kill(reason)]
    assert not found.limit_enforced


@pytest.mark.statement("RL-4")
@pytest.mark.parametrize("name", ["h_cpu", "s_cpu", "h_vmem", "s_vmem"])
def test_a_job_is_measured_one_interval_after_its_start(name: str) -> None:
    found = Control(config(limits={name: 10}, pdc_interval_s=2))
    assert found.needs_measuring
    found.started(100.0)
    assert found.deadline() == 102.0


@pytest.mark.parametrize("text", ["nice=low", "nice", "size=5", "nice=", "nice=-"])
def test_a_command_that_only_looks_like_a_nice_value_is_left_alone(text: str) -> None:
    [action] = control().command(text, 1)
    assert isinstance(action, Note) and text in action.text


@pytest.mark.statement("QC-27")
def test_a_job_whose_process_has_ended_is_no_longer_suspended() -> None:
    found = control()
    found.command("suspend", 1)
    assert found.suspended
    found.ended()
    assert not found.suspended


@pytest.mark.statement("IA-9")
def test_a_job_without_its_session_is_ended_as_if_it_were_deleted() -> None:
    found = control(notify_s=10)
    assert found.disconnected("no client was connected", 1.0) == [Signal(SIGUSR2)]
    assert found.due(11.0) == [Kill("no client was connected")]


@pytest.mark.statement("QC-27")
def test_a_signal_instead_of_a_method_has_no_command() -> None:
    found = control(suspend_method="TSTP", resume_method="root@/m a")
    assert found.method("suspend_method") is found.method("terminate_method") is None
    assert found.method("resume_method") == Method("root", ["/m", "a"])


@pytest.mark.statement("EX-6", "QC-27", "RL-3")
@pytest.mark.parametrize(
    ("changes", "commands", "last"),
    [
        ({}, [(1, "suspend"), (2, "resume"), (3, "suspend")], (3, Signal(SIGSTOP))),
        ({"limits": {"s_rt": 5}}, [(1, "suspend"), (6, "suspend")], (6, Signal(SIGSTOP))),
        ({}, [(1, "kill"), (2, "terminate")], (2, Kill("the job was killed on request"))),
        ({"notify_s": 10, "queue_notify_s": 0}, [(1, "terminate"), (5, "terminate")], (11, DELETED)),
    ],
)
def test_earlier_commands_are_remembered(
    changes: dict[str, Any], commands: list[tuple[float, str]], last: tuple[float, Action]
) -> None:
    assert play(control(**changes), *commands, until=30)[-1] == last


@pytest.mark.statement("CK-4")
def test_a_job_that_is_ended_to_migrate_is_resumed_and_goes_on_elsewhere_all_the_same() -> None:
    found = control(ckpt_interface="userdefined", notify_s=10)
    found.command("migrate", 1)
    assert found.command("resume", 2) == [Signal(SIGCONT)]
    assert found.migrating


@pytest.mark.statement("RL-4")
def test_a_limit_is_exceeded_above_it_and_by_the_kernels_count_shortly_below() -> None:
    assert control(limits={"s_cpu": 10, "h_vmem": 100}).measured(10, 100) == []
    found = control(limits={"h_cpu": 10})
    found.killed_by_unknown(9.0)
    assert found.limit_enforced


@pytest.mark.statement("QC-29", "RL-9")
@pytest.mark.parametrize(
    ("changes", "command", "expected"),
    [({"notify_kill": "dance"}, "terminate", SIGUSR2), ({"notify_susp": "dance"}, "suspend", SIGUSR1)],
)
def test_a_notification_that_is_no_signal_is_the_usual_one(changes: dict[str, Any], command: str, expected: int) -> None:
    assert control(notify_s=5, **changes).command(command, 1.0) == [Signal(expected)]


def test_nothing_is_pending_after_the_end() -> None:
    found = control(limits={"h_rt": 5}, notify_s=10)
    found.command("terminate", 1)
    found.ended()
    assert found.deadline() is None
    assert SIGKILL not in [getattr(action, "number", 0) for action in found.due(100)]


@pytest.mark.statement("QC-27")
def test_the_substitute_of_a_method_that_cannot_be_executed() -> None:
    methods = {f"{name}_method": "/no/method" for name in ("suspend", "resume", "terminate")}
    found = control(queue_notify_s=60, **methods)
    assert found.command("suspend", 1.0) == [RunMethod("suspend_method")]
    assert found.not_executed("suspend_method") == [Signal(SIGSTOP)]
    assert found.command("resume", 2.0) == [RunMethod("resume_method")]
    assert found.not_executed("suspend_method") == [], "it has been resumed meanwhile"
    assert found.not_executed("resume_method") == [Signal(SIGCONT)]
    assert found.command("terminate", 3.0) == [RunMethod("terminate_method")]
    assert found.not_executed("terminate_method") == [DELETED]
    assert found.deadline() is None
    assert found.not_executed("migr_command") == [], "a job that is not saved is not ended"
