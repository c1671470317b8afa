"""Users who ask for everything at once: jobs of all kinds, deletions, changes, holds, reservations, interactive sessions.

Defines the requests and the reading of their answers. `verdict` has the required outcome. Called by `play`, a thread a user.
"""

from __future__ import annotations

import random
import re
import subprocess
import threading
import time
from collections.abc import Callable
from typing import Any

from tests.integration.cells import TestbedCell
from tests.torture.journal import Journal, Request, now
from tests.torture.plan import EXEC_HOSTS, MASTER
from tests.torture.scripts import Scripts

ANSWER_S = 60.0
"""A command that has not ended by then counts as lost: it retries for half a minute by itself."""
LICENCES, SLOTS = 5, 6
"""Of the cell, and of each host."""
_PAUSE_S = 1.0
"""Between two acts of a user, on average: the cell has few slots, and must be able to follow."""
_RECENT = 12


class User:
    """One user, or the administrator, with one action after the other until `stop` is set. `tag`: tells him from himself at
    another terminal."""

    def __init__(self, name: str, tag: int, cell: TestbedCell, scripts: Scripts, journal: Journal, seed: int) -> None:
        self._name, self._cell, self._scripts, self._journal = name, cell, scripts, journal
        self._tag = f"{name}{tag}"
        self._chance = random.Random(f"{self._tag} {seed}")
        self._numbers = 0
        self._acts: dict[Callable[[], None], int] = {
            self._single: 8,
            self._array: 3,
            self._parallel: 2,
            self._tight: 2,
            self._dependent: 3,
            self._held: 2,
            self._release: 3,
            self._alter: 2,
            self._delete: 2,
            self._reserve: 1,
            self._reserved: 3,
            self._interactive: 1,
        }
        if name == "root":
            self._acts = {self._configure: 1}

    def work(self, stop: threading.Event) -> None:
        """Until everything is to end."""
        while not stop.wait(self._chance.uniform(0, 2 * _PAUSE_S)):
            (act,) = self._chance.choices(list(self._acts), list(self._acts.values()))
            act()

    # --- jobs -----------------------------------------------------------------------------------------------------

    def _single(self, *options: str, kind: str = "single", **more: Any) -> None:
        licences = self._chance.choice((0, 0, 0, 1) if kind == "parallel" else (0, 0, 0, 0, 1, 3))
        rerun = self._chance.choice("yn")
        arguments = [*options, "-r", rerun, *(("-l", f"lic={licences}") if licences else ())]
        self._submit(kind, arguments, self._scripts.run, licences, rerun=rerun, **more)

    def _array(self) -> None:
        tasks = self._chance.randint(2, 6)
        self._single("-t", f"1-{tasks}", kind="array", tasks=tasks)

    def _parallel(self) -> None:
        self._single("-pe", "spread", str(self._chance.randint(2, 5)), kind="parallel")

    def _tight(self) -> None:
        arguments = ["-pe", "spread", str(self._chance.randint(2, 4)), "-r", "n"]
        self._submit("tight", arguments, self._scripts.tight, 0, rerun="n")

    def _dependent(self) -> None:
        recent = self._recent()
        if recent:
            before = self._chance.choice(recent).job
            self._single("-hold_jid", str(before), kind="dependent", after=before)

    def _held(self) -> None:
        self._single("-h", kind="held")

    def _submit(self, kind: str, arguments: list[str], script: object, licences: int, **more: Any) -> None:
        seconds = f"{self._chance.uniform(0, 4):.1f}"
        entry = self._ask("submit", ["qsub", "-terse", *arguments, str(script), seconds, str(licences)])
        number = re.match(r"\d+", entry.more.pop("output"))
        entry.job = int(number[0]) if entry.sure and number else 0
        entry.sure = bool(entry.job)
        entry.more = {"kind": kind, "tasks": 1, "licences": licences, **more}
        self._journal.add(entry)

    # --- changes --------------------------------------------------------------------------------------------------

    def _release(self) -> None:
        self._change("release", "held", lambda job: ["qrls", str(job)])

    def _delete(self) -> None:
        self._change("delete", "", lambda job: ["qdel", str(job)])

    def _alter(self) -> None:
        self._numbers += 1
        account = f"{self._tag}.{self._numbers}"
        self._change("alter", "held", lambda job: ["qalter", "-A", account, str(job)], account=account)

    def _change(self, what: str, kind: str, arguments: Callable[[int], list[str]], **more: Any) -> None:
        recent = self._recent(kind)
        if recent:
            job = self._chance.choice(recent).job
            entry = self._ask(what, arguments(job))
            entry.job, entry.more = job, more
            self._journal.add(entry)

    def _recent(self, kind: str = "") -> list[Request]:
        mine = [each for each in self._journal.submitted(kind) if each.user == self._name]
        return mine[-_RECENT:]

    # --- reservations, sessions, configuration --------------------------------------------------------------------

    def _reserve(self) -> None:
        lasts = self._chance.randint(15, 40)
        began = time.time()
        entry = self._ask("reserve", ["qrsub", "-d", str(lasts), "-q", "all.q", "-pe", "spread", "2"])
        number = re.search(r"advance reservation (\d+) has been granted", entry.more.pop("output"))
        entry.sure = entry.sure and number is not None
        entry.more = {"reservation": int(number[1]) if number else 0, "lasts": lasts, "wall": began}
        self._journal.add(entry)

    def _reserved(self) -> None:
        mine = [each for each in self._journal.requests if each.what == "reserve" and each.sure and each.user == self._name]
        if mine and now() < mine[-1].answered + mine[-1].more["lasts"]:
            number = mine[-1].more["reservation"]
            arguments = ["-ar", str(number), "-r", "n"]
            self._submit("reserved", arguments, self._scripts.run, 0, rerun="n", reservation=number)

    def _interactive(self) -> None:
        self._numbers += 1
        name = f"{self._tag}.i{self._numbers}"
        entry = self._ask("session", ["qrsh", "-now", "n", "-N", name, str(self._scripts.run), "0.5", "0"])
        entry.more = {"name": name}
        self._journal.add(entry)

    def _configure(self) -> None:
        attribute, value = self._chance.choice(("seq_no", "priority")), str(self._chance.randint(0, 9))
        entry = self._ask("configure", ["qconf", "-rattr", "queue", attribute, value, "all.q"])
        entry.more = {"attribute": attribute, "value": value}
        self._journal.add(entry)

    # --- asking ---------------------------------------------------------------------------------------------------

    def _ask(self, what: str, command: list[str]) -> Request:
        host = MASTER if self._name == "root" else self._chance.choice(EXEC_HOSTS)
        asked, sure, output = now(), False, ""
        try:
            if self._name == "root":
                done = self._cell.on(host, *command, timeout=ANSWER_S)
            else:
                done = self._cell.as_user(self._name, host, *command, timeout=ANSWER_S)
            sure, output = done.returncode == 0, done.stdout
            if "Traceback" in done.stderr:
                self._journal.add(Request("traceback", self._name, asked, now(), False, more={"output": done.stderr}))
        except subprocess.TimeoutExpired:
            pass
        return Request(what, self._name, asked, now(), sure, more={"output": output})
