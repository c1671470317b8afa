"""qsub: submit a job. Source: sge_submit(1); statements SB, SO; texts and exit codes as other programs parse them."""

import sys

from clients import gdi, program
from clients.progress import records_of
from clients.submission import ReadSubmission, read_submission, submit_request
from gridengine.errors import EXIT_SYNC_FAILED

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from typing import Any

    from clients.waiting import WaitingCommand


def qsub(arguments: list[str]) -> int:
    """Submit; the exit status."""
    job = read_submission("qsub", arguments)
    if job.settings.get("help"):
        return program.show_help("qsub")
    request = submit_request(job)
    if job.settings.get("verify"):
        return _verify(request)
    if job.settings.get("sync") or job.target.request.get("now"):
        from clients.waiting import interruptible

        return interruptible(lambda waiting: _submit(job, request, waiting))
    return _submit(job, request, None)


def _submit(job: ReadSubmission, request: "dict[str, Any]", waiting: "WaitingCommand | None") -> int:
    """Submit, and wait where that was asked for; the exit status."""
    try:
        answer = gdi.change("submit", request)
    except gdi.Unreachable as error:
        return _not_submitted(gdi.Answer(1, [["error", str(error)]], None), asked=False)
    if answer.data is None:
        return _not_submitted(answer, asked=request.get("verify") in ("v", "p"))
    if not sys.stderr.isatty():  # scripts read what is printed: hints are for people
        answer.answers = [entry for entry in answer.answers if entry[0] != "hint"]
    program.show_answers(answer)
    return _submitted(job, answer.data, waiting)


def _verify(request: "dict[str, Any]") -> int:
    from clients.render.job_detail import would_be_job

    program.show([would_be_job(request)])
    return 0


def _not_submitted(answer: gdi.Answer, asked: bool) -> int:
    """Report a refusal, or the outcome of -w v|p which submits nothing."""
    if asked and not answer.status:
        return program.show_answers(answer)
    texts = [text for level, text in answer.answers if level != "hint"]
    program.complain(f"Unable to run job: {texts[0] if texts else 'no reason given'}")
    for text in texts[1:]:
        program.complain(text)
    program.complain("Exiting.")
    for level, text in answer.answers:
        if level == "hint":
            program.hint(text)
    return answer.status or 1


def _submitted(job: ReadSubmission, data: "dict[str, Any]", waiting: "WaitingCommand | None") -> int:
    """Say the number of the job, then wait for it where that was asked for."""
    job_id, tasks = data["job_id"], data.get("tasks", "")
    label = f"{job_id}.{tasks}" if tasks else str(job_id)
    if job.settings.get("terse"):
        print(label)
    else:
        program.show([f'Your job{"-array" if tasks else ""} {label} ("{data["name"]}") has been submitted\n'])
    if waiting is not None:
        sys.stdout.flush()
        waiting.submitted(job_id)
    if sys.stderr.isatty():
        sys.stdout.flush()
        _say_what_it_waits_for(job_id)
    if waiting is None:
        return 0
    settings, immediate = job.settings, bool(job.target.request.get("now"))
    return _wait(job_id, label, bool(settings.get("sync")), immediate, terse=bool(settings.get("terse")))


#: what its owner has asked for himself, and need not be told
_HIS_OWN_WISH = ("hold", "dependency", "start_time", "reservation", "limit")


def _say_what_it_waits_for(job_id: int) -> None:
    """A line on a terminal, never for scripts, when nothing can take the job now: why, and where there is more.

    Deviation: 8.1.9 is silent.
    """
    try:
        answer = gdi.call("explain_job", {"jobs": [str(job_id)]})
        causes = answer.data["jobs"][0]["causes"]
    except (gdi.Unreachable, LookupError, TypeError):
        return
    told = [cause for cause in causes if cause["kind"] not in _HIS_OWN_WISH]
    if told:
        first = told[0].get("reasons", [])[:1]
        program.complain(f"job {job_id} cannot start now: {': '.join([told[0]['text'], *first])} (qexplain {job_id})")


def _wait(job_id: int, label: str, sync: bool, immediate: bool, terse: bool) -> int:
    """Follow the job to its end, or with -now alone to its start; the exit status of -sync (SO-34)."""
    if immediate:
        program.complain("Waiting for immediate job to be scheduled.")
    status, ended = 0, False
    for record in records_of(job_id):
        if immediate and record.get("deleted"):
            break
        if immediate:
            program.complain(f"Your immediate job {label} has been successfully scheduled.")
            immediate = False
            if not sync:
                return 0
        if "exit_status" in record or record.get("deleted"):
            outcome = _report(f"{job_id}.{record['task_id']}" if "." in label else label, record, terse)
            status, ended = status or outcome, True
    if immediate:
        # also when it was given up before this command began to listen
        program.complain('Your "qsub" request could not be scheduled, try again later.')
        return 1
    if not ended:
        status = _report(str(job_id), {"deleted": True}, terse)
    return status


def _report(label: str, record: "dict[str, Any]", terse: bool) -> int:
    """Report the end of a task: a success on stdout, where -terse leaves it out, all else on stderr; the exit status for it."""
    if record.get("deleted"):
        program.complain(f"Job {label} never ran.")
        return EXIT_SYNC_FAILED
    code, failed = record["exit_status"], record.get("failed", 0)
    # 100: the job died of a signal; 37: it exceeded a limit, and its shell may have told of that by its exit status
    signal = record.get("signal") or (code - 128 if code > 128 and failed in (37, 100) else 0)
    if signal:
        program.complain(f"Job {label} received signal {_signal_name(signal)}.")
        return 1
    if failed:
        from gridengine.failed import TEXTS

        program.complain(f"Job {label} failed: {TEXTS.get(failed, 'unknown reason')} (failed {failed}).")
        return EXIT_SYNC_FAILED
    if code:
        program.complain(f"Job {label} exited with exit code {code}.")
    elif not terse:
        print(f"Job {label} exited with exit code 0.", flush=True)
    return int(code)


def _signal_name(number: int) -> str:
    import signal

    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def main() -> int:
    return program.run("qsub", qsub)
