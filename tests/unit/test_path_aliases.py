"""Path aliases: which lines a job takes along, and what its host makes of its paths."""

import pytest

from gridengine.errors import InvalidValueError
from gridengine.files.path_aliases import apply_aliases, parse_aliases, select_aliases
from tests.unit.execd.test_task_config import config

FILE = """# comment

/tmp_mnt/ * * /
/home  sub1  *  /net/home
/home other * /nowhere
/net/home * g1.dom /export
/other * * /x
"""


def kept(host: str, *paths: str) -> list[tuple[str, str, str]]:
    return select_aliases(parse_aliases(FILE, "f"), host, paths)


@pytest.mark.statement("SB-10")
def test_lines_are_kept_that_concern_the_paths_or_what_becomes_of_them() -> None:
    assert kept("sub1.dom", "/tmp_mnt/home/alice") == [
        ("/tmp_mnt/", "*", "/"),
        ("/home", "*", "/net/home"),
        ("/net/home", "g1.dom", "/export"),
    ]
    assert kept("sub2", "/home/alice", "relative") == [] and kept("sub1", "/homes") == []
    assert kept("sub2", "", "/other") == [("/other", "*", "/x")]


@pytest.mark.statement("SB-10")
@pytest.mark.parametrize(("host", "root"), [("g1", "/export"), ("g2", "/net/home"), ("g1.elsewhere", "/net/home")])
def test_each_alias_works_on_what_the_ones_before_made(host: str, root: str) -> None:
    assert apply_aliases("/tmp_mnt/home/alice", kept("sub1", "/tmp_mnt/home/alice"), host) == f"{root}/alice"


@pytest.mark.statement("SB-10")
def test_names_of_directories_are_whole() -> None:
    assert apply_aliases("/home/alice", [("/home/al", "*", "/x")], "g1") == "/home/alice"
    assert apply_aliases("/home/al", [("/home/al", "*", "/x")], "g1") == "/x"


@pytest.mark.parametrize("line", ["/a * *", "/a * * /b /c"])
def test_a_wrong_line_is_named(line: str) -> None:
    with pytest.raises(InvalidValueError, match="sge_aliases, line 2"):
        parse_aliases(f"#\n{line}\n", "sge_aliases")


@pytest.mark.statement("SB-10")
def test_the_shepherd_gets_the_paths_of_its_host() -> None:
    aliases = [("/work", "g1", "/local"), ("/bin", "g2", "/nowhere"), ("/bin", "*", "/usr/bin")]
    made = config({"cwd": "/work/a", "path_aliases": aliases, "binary": True, "script_file": "/bin/true"})
    assert (made.cwd, made.command) == ("/local/a", "/usr/bin/true")
    assert made.stdout == "/local/a" and made.environment["PWD"] == "/local/a"
    assert config({"script_file": "/bin/true", "path_aliases": aliases}).cwd == "/home/alice"
