"""C programs with the library: every call with invalid arguments, threads, forks, signals. Also under sanitizers."""

from __future__ import annotations

import re

import pytest

from tests.integration.cells import run
from tests.integration.drmaa.programs import SOURCE, Programs


@pytest.mark.statement("DM-1")
def test_nothing_but_the_standard_can_be_seen_and_nothing_but_libc_is_needed(programs: Programs) -> None:
    library = str(programs.directory / "libdrmaa.so.1.0")
    symbols = {line.split()[-1] for line in run(["nm", "-D", "--defined-only", library]).stdout.splitlines()}
    declared = set(re.findall(r"\b(drmaa_\w+)\(", (SOURCE / "drmaa.h").read_text()))
    assert len(declared) == 36 and {name for name in symbols if name.startswith("drmaa_")} == declared
    dynamic = run(["readelf", "-d", library]).stdout
    assert "Library soname: [libdrmaa.so.1.0]" in dynamic


def test_the_parts_of_the_library_by_themselves(programs: Programs) -> None:
    sources = [SOURCE / f"{name}.c" for name in ("text", "json", "ranges", "start_time", "job_table")]
    done = run([str(programs.compiled("parts", *sources))])
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.statement("DM-1")
def test_every_call_survives_wrong_arguments(programs: Programs) -> None:
    programs.c("calls")


@pytest.mark.statement("DM-4")
def test_sixteen_threads_submit_and_wait(programs: Programs) -> None:
    assert "waited for 96 " in programs.c("load", "16", "6", "-w n").stdout
