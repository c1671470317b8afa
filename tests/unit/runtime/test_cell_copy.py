"""The files of a cell on a host with a copy of its own: it follows the master's, and never fights over shared ones."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
from pathlib import Path

import pytest

from daemons.runtime.cell import CellError
from daemons.runtime.cell_copy import LARGEST, CellCopy, CellTexts, OfferedFiles, follow, mark
from gridengine.cell_files import HOST_FILES

BOOTSTRAP = """admin_user root
spooling_method sqlite
qmaster_spool_dir /var/spool/q
execd_spool_dir /var/spool/e
run_dir /run/c
qmaster_port 6444
ray_port 6446
security_mode tls
"""


def make_common(path: Path, **files: str) -> Path:
    path.mkdir()
    for name, text in {"act_qmaster": "m\n", "bootstrap": BOOTSTRAP, **files}.items():
        (path / name).write_text(text)
    return path


@pytest.fixture
def master(tmp_path: Path) -> Path:
    common = make_common(tmp_path / "master", sge_request="-cwd\n", shadow_masters="m\ns\n")
    mark(common)
    return common


def offered(master: Path, host: Path) -> dict[str, str]:
    """What a master of which the host is `m` answers one hello."""
    state = CellCopy(host).state()
    return asyncio.run(OfferedFiles(master, "m").select_files(state["files"], state["files_mark"]))  # type: ignore[arg-type]


def exchange(master: Path, host: Path) -> list[str]:
    """One hello of a host; the names that it took."""
    return follow(host, offered(master, host))


def texts(common: Path) -> dict[str, str]:
    return CellTexts(common).read()


def test_a_host_with_an_old_copy_follows(master: Path, tmp_path: Path) -> None:
    host = make_common(tmp_path / "host", act_qmaster="old\n", host_aliases="a b\n", tls="secret")
    assert exchange(master, host)[-1] == "act_qmaster"
    assert texts(host) == texts(master)
    assert (host / "host_aliases.replaced").read_text() == "a b\n" and (host / "tls").read_text() == "secret"
    assert (host / "act_qmaster").stat().st_mode & 0o777 == 0o644
    assert exchange(master, host) == []


def test_the_masters_own_directory_is_left_alone(master: Path) -> None:
    """A shared file system, which another host sees as it was a moment ago."""
    assert exchange(master, master) == []
    state = CellCopy(master).state()
    (master / "sge_request").write_text("-V\n")
    mark(master)  # by another master of the same directory
    assert asyncio.run(OfferedFiles(master, "s").select_files(state["files"], state["files_mark"])) == {}  # type: ignore[arg-type]


def test_a_copy_with_the_mark_in_it_follows_all_the_same(master: Path, tmp_path: Path) -> None:
    shutil.copytree(master, tmp_path / "copied")
    (master / "shadow_masters").unlink()
    assert exchange(master, tmp_path / "copied") == ["shadow_masters"]
    assert (tmp_path / "copied" / "shadow_masters.replaced").read_text() == "m\ns\n"


def test_files_that_the_master_cannot_offer_stay_on_the_host(master: Path, tmp_path: Path) -> None:
    """A file that is too long, or not readable at the moment, is not one that the master lacks."""
    host = make_common(tmp_path / "host", qtask="a\n", host_aliases="a b\n", sge_qstat="-u x\n")
    (master / "qtask").write_text("x" * (LARGEST + 1))
    (master / "host_aliases").mkdir()
    os.mkfifo(master / "sge_qstat")
    exchange(master, host)
    assert [(host / name).read_text() for name in ("qtask", "host_aliases", "sge_qstat")] == ["a\n", "a b\n", "-u x\n"]


def test_a_master_hands_out_its_own_name_though_its_file_is_late(master: Path, tmp_path: Path) -> None:
    (master / "act_qmaster").write_text("earlier\n")
    host = make_common(tmp_path / "host", act_qmaster="earlier\n")
    exchange(master, host)
    assert (host / "act_qmaster").read_text() == "m\n"


def test_a_file_that_changes_is_read_again(master: Path) -> None:
    reader, path = CellTexts(master), master / "sge_request"
    os.utime(path, (1, 1))
    for text in ("-V\n", "-j\n"):
        path.write_text(text)
        assert reader.read()["sge_request"] == text


def test_the_directories_of_a_host_stay_its_own(master: Path, tmp_path: Path) -> None:
    host = make_common(tmp_path / "host", bootstrap=BOOTSTRAP.replace("/var/spool/e", "/scratch/e").replace("6446", "7000"))
    exchange(master, host)
    text = (host / "bootstrap").read_text()
    assert "execd_spool_dir /scratch/e\n" in text and "ray_port 6446\n" in text
    assert exchange(master, host) == []


def test_a_host_of_an_earlier_release_is_offered_nothing(master: Path) -> None:
    assert asyncio.run(OfferedFiles(master, "m").select_files({}, "")) == {}


@pytest.mark.parametrize(
    "wrong",
    [
        {"act_qmaster": ""},
        {"act_qmaster": "a b"},
        {"bootstrap": "qmaster_port 1\n"},
        {"bootstrap": BOOTSTRAP.replace("6444", "x")},
        {"sge_request": "x" * (LARGEST + 1)},
        {"sge_request": 5},
        {"sge_request": "\ud800"},
    ],
)
def test_invalid_offers_change_nothing(master: Path, tmp_path: Path, wrong: dict[str, object]) -> None:
    host = make_common(tmp_path / "host", act_qmaster="old\n")
    before = texts(host)
    with pytest.raises(CellError):
        follow(host, {**texts(master), **wrong})
    assert texts(host) == before


def test_other_names_are_not_written(master: Path, tmp_path: Path) -> None:
    host = make_common(tmp_path / "host")
    follow(host, {**texts(master), "../evil": "x", "tls.crt": "x", "secrets/m/tls.key": "x"})
    assert not (tmp_path / "evil").exists() and not (host / "tls.crt").exists() and not (host / "secrets").exists()


@pytest.mark.parametrize("seed", range(10))
def test_after_any_changes_one_exchange_is_enough(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    sides = [make_common(tmp_path / name) for name in ("master", "host")]
    mark(sides[0])
    for side in sides * 3:
        for name in dice.sample([name for name in HOST_FILES if name not in ("act_qmaster", "bootstrap")], 4):
            (side / name).write_text(dice.choice(["a\n", "b\n", "c d\n"]))
        (side / "act_qmaster").write_text("m\n" if side == sides[0] else dice.choice(["m\n", "s\n"]))
        exchange(*sides)
        assert texts(sides[0]) == texts(sides[1])
