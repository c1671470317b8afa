"""Runs of the scheduler in a stream of jobs, and for somebody who submits one after the other."""

from __future__ import annotations

from daemons.qmaster.serve.cycle_pacing import APART_S, MANY, CyclePacing


def runs(arrivals: list[float]) -> list[float]:
    """When runs begin if each thing that comes asks for one, and a run takes no time."""
    pacing, began = CyclePacing(), []
    due = float("inf")
    for now in [*arrivals, float("inf")]:
        if due <= now and due < float("inf"):
            pacing.begin(due)
            began.append(due)
            due = float("inf")
        if now < float("inf"):
            pacing.note(now)
            due = min(due, now + pacing.pause_s(now))
    return began


def test_one_job_after_the_other_waits_for_nobody() -> None:
    submitted_and_ended = sorted(number * 0.029 + later for number in range(50) for later in (0.0, 0.02))
    assert runs(submitted_and_ended) == submitted_and_ended


def test_a_stream_is_gathered() -> None:
    """Of 200 jobs a second for five seconds not each has a run of its own, and none waits for longer than between two runs."""
    stream = [number / 200 for number in range(1000)]
    began = runs(stream)
    assert len(began) <= 5 / APART_S + MANY + 1
    for came in stream:
        assert any(came <= start <= came + APART_S + 1e-9 for start in began)


def test_what_comes_after_a_pause_is_not_held_up() -> None:
    burst = [0.0] * MANY
    assert runs([*burst, 10.0])[-1] == 10.0
