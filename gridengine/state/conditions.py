"""Conditions of a task at a host: one table of what each of them means for `qstat`, for the host, for a requeue and for people.

Owns the table. A task stores the names of its conditions (`Task.conditions`); events of `gridengine.state.machines.task` set
and clear them. Pure data. Source: sge_status(5); ST-32 (codes).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

ConditionName = Literal["ended_by_operator", "deleted", "rescheduling", "subordinated", "threshold_suspended", "suspended"]
"""A name is spooled: it must stay readable for years."""


class Condition(NamedTuple):
    """`command`: the instruction that the host gets while the condition is set. `code`: its letter in the state codes of a task,
    "" for none; `noun`: its meaning on pages. `by`: in `TaskSuspensionChanged`, "" for a condition with an event of its own."""

    name: ConditionName
    command: Literal["suspend", "kill", "end"]
    code: str = ""
    noun: str = ""
    by: str = ""
    #: sentence of qexplain about a suspended task, `{job}` in it stands for the number of the job
    activity: str = ""
    #: causes in the log when it is set and when it is cleared, "" if they depend on the queue
    causes: tuple[str, str] = ("", "")
    #: whether it ends with the attempt when the task becomes pending again
    cleared_by_requeue: bool = True


_ROWS = (
    # an operator deleted it: without the epilog and similar steps; only together with `deleted`
    Condition("ended_by_operator", "end"),
    # it is deleted when its host reports its end
    Condition("deleted", "kill", "d", "being deleted"),
    # it becomes pending again when its host reports its end (qmod -rj, -rq)
    Condition("rescheduling", "kill"),
    # a slot-wise subordinate list suspends it (SU-7)
    Condition(
        name="subordinated",
        command="suspend",
        code="S",
        noun="suspended by its queue",
        by="subordinate",
        activity="is suspended with its queue",
        causes=("slot-wise subordination", "slot-wise subordination"),
    ),
    # suspend_thresholds of its queue suspend it (QC-8)
    Condition(
        name="threshold_suspended",
        command="suspend",
        code="T",
        noun="suspended by a threshold",
        by="threshold",
        activity="is suspended by a threshold of its queue",
    ),
    # a user suspended it (qmod -sj; QM-7)
    Condition(
        name="suspended",
        command="suspend",
        code="s",
        noun="suspended",
        by="user",
        activity="is suspended (qmod -usj {job} lets it go on)",
        causes=("qmod -sj", "qmod -usj"),
    ),
)
CONDITIONS: dict[str, Condition] = {row.name: row for row in _ROWS}
"""The conditions by name, the most severe one first: its command precedes the commands of later ones."""

OF_SUSPENSIONS: dict[str, ConditionName] = {row.by: row.name for row in _ROWS if row.by}
"""`by` of `TaskSuspensionChanged` -> the condition that the event sets or clears."""
SUSPENDING = frozenset(row.name for row in _ROWS if row.command == "suspend")
"""Names of the conditions that suspend a task; all others end its attempt."""
CODE_ORDER = "dESThRqstrw"
"""The state codes of a job in the order of qstat, also those of no condition. Source: sge_status(5); O."""
SUSPENSION_CODES = frozenset(row.code for row in _ROWS if row.command == "suspend")
