"""The pictures of docs/web.md: pages of a cell in this process, in a browser.

    python -m tests.integration.web.pictures [DIRECTORY]

Writes each of PICTURES to DIRECTORY/NAME.png (default docs/pictures) and removes all other pictures there. Prints findings of
axe-core, elements that are too wide, and errors of the browser's console; exit status 1 if there are any. Called by
`make pictures`.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from tests.integration.web.browser import PHONE, WIDE, Visits, overhang, serious_findings
from tests.integration.web.pictured_cell import pictured_cell

PLACE = Path(__file__).parents[3] / "docs" / "pictures"
_SUBMIT = "/submit?-N=forecast&-l=h_vmem%3D4G&-pe=smp+4&-b=y&command=/opt/weather/bin/forecast"


class Picture(NamedTuple):
    """A page at a `path`; `phone`: in a narrow window; `click`: the name of a button that is pressed first; `height`: pixels
    at which a longer page is cut off."""

    path: str
    phone: bool = False
    dark: bool = False
    click: str = ""
    height: int = 1500


PICTURES = {
    "overview": Picture("/"),
    "overview-phone": Picture("/", phone=True),
    "jobs": Picture("/jobs"),
    "job-waiting": Picture("/jobs/7"),
    "job-running": Picture("/jobs/3"),
    "job-running-phone-dark": Picture("/jobs/3", phone=True, dark=True, height=2100),
    "job-finished": Picture("/jobs/4"),
    "submit": Picture(_SUBMIT, click="Check", height=3000),
    "instances": Picture("/instances"),
    "queue": Picture("/queues/all.q"),
    "host": Picture("/hosts/node4"),
    "time-line-dark": Picture("/reservations?view=time", dark=True),
    "reserve": Picture("/reservations/new?-N=lecture&-d=2:00:00&-pe=mpi+16", click="Find available times", height=1900),
    "quotas": Picture("/quotas"),
    "policies": Picture("/policies"),
    "calendar": Picture("/config/calendar/nights"),
    "history": Picture("/history"),
    "accounting": Picture("/accounting"),
    "query": Picture("/accounting/Accounting per User"),
}


def take(page: Page, file: Path, most: int) -> None:
    """Write a picture of a page, at most `most` pixels high, in a window of that height, so that fixed elements are at their
    edges."""
    width, least = page.evaluate("[innerWidth, innerHeight]")
    height = max(least, min(page.evaluate("document.documentElement.scrollHeight"), most))
    page.set_viewport_size({"width": width, "height": height})
    page.evaluate("scrollTo(0, 0)")
    page.screenshot(path=file)
    with Image.open(file) as taken:
        taken.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(file, optimize=True)


def faults(page: Page, visits: Visits) -> list[str]:
    """Findings on an open page."""
    found = [*serious_findings(page), *(f"too wide: {each}" for each in overhang(page)), *visits.errors]
    visits.errors.clear()
    return found


def main(directory: str = str(PLACE)) -> int:
    """Write all pictures; 1 if a page has a fault."""
    logging.disable(logging.WARNING)  # the master cannot reach its hosts, which exist in this process alone
    place, count = Path(directory), 0
    place.mkdir(parents=True, exist_ok=True)
    for path in place.glob("*.png"):
        path.unlink()
    with tempfile.TemporaryDirectory() as scratch, pictured_cell(Path(scratch)) as address, sync_playwright() as driver:
        options = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = driver.chromium.launch(executable_path=shutil.which("chromium-headless-shell"), args=options)
        visits = Visits(browser)
        for name, picture in PICTURES.items():
            page = visits.open(address + picture.path, PHONE if picture.phone else WIDE, "dark" if picture.dark else "light")
            if picture.click:
                page.get_by_role("button", name=picture.click).click()
                page.locator("#outcome .note, #outcome table, #outcome pre").first.wait_for()
            take(page, place / f"{name}.png", picture.height)
            for fault in faults(page, visits):
                count += 1
                print(f"{name}: {fault}")
            visits.close()
        browser.close()
    return min(count, 1)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
