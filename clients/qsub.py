"""qsub: submit a job. Source: sge_submit(1); statements SB, SO; texts and exit codes as other programs parse them."""

import os
import sys
from itertools import chain

from clients import gdi, program
from clients.progress import records_of
from clients.submission import ReadSubmission, read_submission, submit_request
from gridengine import json_text
from gridengine.errors import EXIT_SYNC_FAILED

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from clients.ending_signals import EndingSignals


#: what the native front hands over instead of a key, before a descriptor's number: the state of its wait (adr/0261)
_WAIT = "wait:"


def qsub(arguments: list[str]) -> int:
    """Submit; the exit status."""
    if gdi.sent_key.startswith(_WAIT):
        return _continue_wait()
    job = read_submission("qsub", arguments)
    if job.settings.get("help"):
        return program.show_help("qsub")
    request = submit_request(job)
    if job.settings.get("verify"):
        return _verify(request)
    if job.settings.get("sync") or job.target.request.get("now"):
        from clients.ending_signals import run_interruptible

        return run_interruptible(lambda signals: _submit(job, request, signals))
    return _submit(job, request, None)


def _submit(job: ReadSubmission, request: "dict[str, Any]", signals: "EndingSignals | None") -> int:
    """Submit, and wait if the options request it; the exit status."""
    try:
        answer = signals.submit(request) if signals else gdi.change("submit", request)
    except gdi.Unreachable as error:
        return _report_refusal(gdi.Answer(1, [["error", str(error)]], None), request, is_verification=False)
    if answer.data is None:
        return _report_refusal(answer, request, is_verification=request.get("verify") in ("v", "p"))
    if not sys.stderr.isatty():  # scripts read what is printed: hints are for people
        answer.answers = [entry for entry in answer.answers if entry[0] != "hint"]
    program.show_answers(answer)
    return _finish_submission(job, answer.data, signals)


def _verify(request: "dict[str, Any]") -> int:
    from clients.render.job_detail import unsubmitted_job_text

    program.show([unsubmitted_job_text(request)])
    return 0


def _report_refusal(answer: gdi.Answer, request: "dict[str, Any]", is_verification: bool) -> int:
    """Report a refusal, or the outcome of -w v|p which submits nothing."""
    status = program.show_answers(answer) if is_verification and not answer.status else _report_errors(answer)
    if is_verification and request.get("verify") == "p":
        _print_expected_start(request)
    return status


def _report_errors(answer: gdi.Answer) -> int:
    """Report why nothing was submitted; the exit status."""
    texts = [text for level, text in answer.answers if level != "hint"]
    program.print_error(f"Unable to run job: {texts[0] if texts else 'no reason given'}")
    for text in texts[1:]:
        program.print_error(text)
    program.print_error("Exiting.")
    for level, text in answer.answers:
        if level == "hint":
            program.hint(text)
    return answer.status or 1


def _print_expected_start(request: "dict[str, Any]") -> None:
    """Print the expected start of the job that would be submitted, if it is known.

    Deviation: 8.1.9 prints nothing.
    """
    from clients.render.forecasts import expected_range
    from gridengine.values.printable import printable

    try:
        answer = gdi.call("forecast", {"about": "start", "jobs": [], "submission": request})
        job = printable(answer.data["jobs"][0])
    except (gdi.Unreachable, LookupError, TypeError):
        return
    reason = job["texts"][0].partition(": qexplain ")[0]  # which knows jobs alone that were submitted
    program.show([f"expected start: {expected_range(job) or f'unknown: {reason}'}\n"])


def _finish_submission(job: ReadSubmission, data: "dict[str, Any]", signals: "EndingSignals | None") -> int:
    """Print the number of the job, then wait for the job if the options request it; the exit status."""
    job_id, tasks = data["job_id"], data.get("tasks", "")
    label = _label(job_id, tasks)
    if job.settings.get("terse"):
        print(label)
    else:
        program.show([f'Your job{"-array" if tasks else ""} {label} ("{data["name"]}") has been submitted\n'])
    if signals is not None:
        sys.stdout.flush()
        signals.deliver()
    if sys.stderr.isatty():
        sys.stdout.flush()
        _print_pending_reason(job_id)
    if signals is None:
        return 0
    settings, immediate = job.settings, bool(job.target.request.get("now"))
    return _wait(job_id, label, bool(settings.get("sync")), immediate, terse=bool(settings.get("terse")))


def _label(job_id: int, tasks: str) -> str:
    """The job as messages name it. `tasks`: of an array, else ""."""
    return f"{job_id}.{tasks}" if tasks else str(job_id)


#: kinds of causes that the owner requested, which need no message
_REQUESTED_CAUSES = ("hold", "dependency", "start_time", "reservation", "limit")


def _print_pending_reason(job_id: int) -> None:
    """Print on a terminal, never for scripts, the reason why a job cannot start now, and the command for details.

    Deviation: 8.1.9 prints nothing.
    """
    try:
        answer = gdi.call("explain_job", {"jobs": [str(job_id)]})
        causes = answer.data["jobs"][0]["causes"]
    except (gdi.Unreachable, LookupError, TypeError):
        return
    reported = [cause for cause in causes if cause["kind"] not in _REQUESTED_CAUSES]
    if reported:
        first = reported[0].get("reasons", [])[:1]
        program.print_error(f"job {job_id} cannot start now: {': '.join([reported[0]['text'], *first])} (qexplain {job_id})")


def _continue_wait() -> int:
    """Continue the wait of the native front, which has submitted the job and printed what it knows; the exit status."""
    from clients.ending_signals import run_interruptible

    with os.fdopen(int(gdi.sent_key.removeprefix(_WAIT)), "rb") as file:
        state = json_text.decode(file.read())
    gdi.sent_key = ""

    def follow(signals: "EndingSignals") -> int:
        signals.adopt(state["job_id"])
        records = records_of(state["job_id"], state["reported"], state["quiet"])
        return _follow(_label(state["job_id"], state["tasks"]), records, state["terse"], state["status"], bool(state["reported"]))

    return run_interruptible(follow)


def _wait(job_id: int, label: str, sync: bool, immediate: bool, terse: bool) -> int:
    """Follow the job to its end, or with -now alone to its start; the exit status of -sync (SO-34)."""
    records = records_of(job_id)
    if immediate:
        program.print_error("Waiting for immediate job to be scheduled.")
        first = next(records, None)
        if first is None or first.get("deleted"):  # None: it was deleted before this command opened the stream
            program.print_error('Your "qsub" request could not be scheduled, try again later.')
            return 1
        program.print_error(f"Your immediate job {label} has been successfully scheduled.")
        if not sync:
            return 0
        records = chain((first,), records)
    return _follow(label, records, terse)


def _follow(label: str, records: "Iterable[dict[str, Any]]", terse: bool, status: int = 0, ended: bool = False) -> int:
    """Report the ends among the records; the exit status of -sync. `status`, `ended`: of the ends that were reported before."""
    job_id, _, tasks = label.partition(".")
    for record in records:
        if "exit_status" in record or record.get("deleted"):
            outcome = _report_end(f"{job_id}.{record['task_id']}" if tasks else label, record, terse)
            status, ended = status or outcome, True
    if not ended:
        status = _report_end(job_id, {"deleted": True}, terse)
    return status


def _report_end(label: str, record: "dict[str, Any]", terse: bool) -> int:
    """Report the end of a task: a success on stdout, unless -terse, a failure on stderr; the exit status for it."""
    if record.get("deleted"):
        program.print_error(f"Job {label} never ran.")
        return EXIT_SYNC_FAILED
    code, failed = record["exit_status"], record.get("failed", 0)
    # 100: the job died of a signal; 37: it exceeded a limit, which its shell may have reported by its exit status
    signal = record.get("signal") or (code - 128 if code > 128 and failed in (37, 100) else 0)
    if signal:
        program.print_error(f"Job {label} received signal {_signal_name(signal)}.")
        return 1
    if failed:
        from gridengine.usage.failed import TEXTS

        program.print_error(f"Job {label} failed: {TEXTS.get(failed, 'unknown reason')} (failed {failed}).")
        return EXIT_SYNC_FAILED
    if code:
        program.print_error(f"Job {label} exited with exit code {code}.")
    elif not terse:
        print(f"Job {label} exited with exit code 0.", flush=True)
    return int(code)


def _signal_name(number: int) -> str:
    import signal

    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
