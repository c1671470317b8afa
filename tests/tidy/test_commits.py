"""Subjects of commits: one idea in 72 letters, so that a list of them can be read."""

from __future__ import annotations

import subprocess

import pytest

from tests import needs
from tests.tidy.sources import ROOT

#: the last commit before this was a rule
BEFORE = "d90ffd09"
LONGEST = 72
#: commits that were published with a fault: the history that others have is not rewritten
PUBLISHED = ("7cd1ebdea22bf96f482cad6e87842d29d092e693",)


def fault_of(subject: str) -> str | None:
    """The faults of a commit subject."""
    if len(subject) > LONGEST:
        return f"{len(subject)} letters: {subject}"
    if ";" in subject or subject.endswith("."):
        return f"more than one idea, or a sentence that ends: {subject}"
    return None


def test_subjects_of_commits() -> None:
    shown = subprocess.run(["git", "log", "--format=%H %s", f"{BEFORE}.."], cwd=ROOT, capture_output=True, text=True)
    if shown.returncode:
        needs.skip("the history of the project", "run the tests in a clone that is not shallow")
    commits = dict(line.split(" ", 1) for line in shown.stdout.splitlines())
    faults = {commit: fault_of(subject) for commit, subject in commits.items()}
    assert [commit for commit, fault in faults.items() if fault] == [commit for commit in PUBLISHED if commit in commits], faults


@pytest.mark.parametrize(
    ("subject", "fine"),
    [("A door has a limit", True), ("x" * 72, True), ("x" * 73, False), ("A door; a window", False), ("A door.", False)],
)
def test_a_bad_subject_is_seen(subject: str, fine: bool) -> None:
    assert (fault_of(subject) is None) == fine
