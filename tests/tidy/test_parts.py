"""The parts of `make test` that run side by side: one alone may use the hosts of the test bed, others would wait for it."""

from __future__ import annotations

import re

from tests.tidy.sources import ROOT


def test_hosts_of_the_test_bed_are_used_by_one_part() -> None:
    makefile = (ROOT / "Makefile").read_text()
    others = " ".join(re.findall(r"^(?:ASIDE|LATER|APART) := (.*)$", makefile, re.MULTILINE))
    places = [place for name in re.findall(r"\w+", others) if (place := ROOT / "tests" / "integration" / name).is_dir()]
    assert len(places) > 5
    waiting = [
        str(path.relative_to(ROOT))
        for place in places
        for path in sorted(place.glob("test_*.py"))
        for text in [path.read_text()]
        if re.search(r"\b(testbed|session)_cell\b", text) and "pytest.mark.apart" not in text
    ]
    assert waiting == [], "these belong into tests/integration itself, which is the part with the test bed"
