"""The parts of `make test` that run side by side: only one part may use the hosts of the test bed, since others would wait."""

from __future__ import annotations

import re

from tests.tidy.sources import ROOT


def test_hosts_of_the_test_bed_are_used_by_one_part() -> None:
    makefile = (ROOT / "Makefile").read_text()
    others = " ".join(re.findall(r"^(?:ASIDE|LATER|TESTS_OF_JOBS|APART) := (.*)$", makefile, re.MULTILINE))
    names, tests = re.findall(r"\w+", others), ROOT / "tests" / "integration"
    places = [place for name in names if (place := tests / name).is_dir()]
    files = [file for name in names if (file := tests / f"test_{name.removeprefix('test_')}.py").is_file()]
    assert len(places) > 5 and len(files) > 5
    waiting = [
        str(path.relative_to(ROOT))
        for path in [*(path for place in places for path in sorted(place.glob("test_*.py"))), *files]
        for text in [path.read_text()]
        if re.search(r"\b(testbed|session)_cell\b", text) and "pytest.mark.apart" not in text
    ]
    assert waiting == [], "these belong into the part with the test bed"
