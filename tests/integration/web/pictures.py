"""Pictures of pages for docs/web.md: wide and narrow, light and dark.

    python -m tests.integration.web.pictures LINK DIRECTORY PATH...

LINK is a one-time link, as `gridengine web --login` prints it; PATH is a page, such as /jobs?state=r. A picture of the whole page
is written for each size and scheme: DIRECTORY/jobs-wide-light.png. Says what axe-core finds, what is too wide, what consoles say.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path
from urllib.parse import urljoin

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from tests.integration.web.browser import PHONE, WIDE, Visits, overhang, serious_findings

SIZES = {"wide": WIDE, "phone": PHONE}
SCHEMES = ("light", "dark")
#: a list of hundreds of rows is told by its first ones
LONGEST_PX = 2400


def name_of(path: str) -> str:
    """What pictures of a page are called: `/jobs/12?x=1` is jobs-12-x-1."""
    return re.sub(r"[^A-Za-z0-9]+", "-", path).strip("-") or "overview"


def take(page: Page, file: Path) -> None:
    """Write a picture of the whole page, in a window as long as it is: what sticks to an edge is where it belongs."""
    width, least = page.evaluate("[innerWidth, innerHeight]")
    height = max(least, min(page.evaluate("document.documentElement.scrollHeight"), LONGEST_PX))
    page.set_viewport_size({"width": width, "height": height})
    page.screenshot(path=file)
    with Image.open(file) as taken:
        taken.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(file, optimize=True)


def faults(page: Page, visits: Visits) -> list[str]:
    """What is wrong with a page that is open."""
    found = [*serious_findings(page), *(f"too wide: {each}" for each in overhang(page)), *visits.errors]
    visits.errors.clear()
    return found


def main(link: str, directory: str, *paths: str) -> int:
    place, wrong = Path(directory), 0
    place.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as driver:
        options = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = driver.chromium.launch(executable_path=shutil.which("chromium-headless-shell"), args=options)
        visits = Visits(browser)
        first = visits.open(link)
        first.get_by_role("button", name="Log in").click()
        first.get_by_role("heading", name="Overview").wait_for()
        login = first.context.storage_state()
        for path in paths:
            for size, pixels in SIZES.items():
                for scheme in SCHEMES:
                    page = visits.open(urljoin(first.url, path), pixels, scheme, storage_state=login)
                    file = place / f"{name_of(path)}-{size}-{scheme}.png"
                    take(page, file)
                    for fault in faults(page, visits):
                        wrong += 1
                        print(f"{file.name}: {fault}")
        visits.close()
        browser.close()
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
