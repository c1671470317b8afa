"""The fresh machine of `make fresh` and `.ci/run` has the packages that the README names."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

CHECKOUT = Path(__file__).parents[3]


def test_a_fresh_machine_has_the_packages_of_the_readme() -> None:
    """Also where the command goes over several lines: with no package no machine is made, and no test runs."""
    named = re.search(r"`apt-get install ([^`]*)`", (CHECKOUT / "README.md").read_text())
    assert named
    printed = subprocess.run([CHECKOUT / "tests/testbed/fresh", "packages"], capture_output=True, text=True, check=True).stdout
    assert printed.split() == named[1].split()
    assert {"python3", "make", "git"} <= set(printed.split())
