"""Path aliases: names of the submit host's directories on the host of the job.

Owns the format of `sge_aliases` and the effect of its lines on a path. Pure and light: the submitting commands select the lines
that may concern a job, its host applies them. Source: sge_aliases(5), sge_submit(1) -b -cwd -wd; SB-10.

    line = source submit_host exec_host replacement      lines that are blank or begin with # are ignored

Deviation: a source matches whole names of directories; in the original `/home/al` also changes `/home/alice`.
"""

from gridengine.errors import InvalidValueError

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterable

Alias = tuple[str, str, str]
"""(source, exec host or `*`, replacement)"""


def parse_aliases(text: str, path: str) -> list[tuple[str, str, str, str]]:
    """The lines of a file, each (source, submit host, exec host, replacement). Raises InvalidValueError that names the line."""
    found: list[tuple[str, str, str, str]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line[:1] == "#" or not line.strip():
            continue
        fields = line.split()
        if len(fields) != 4:
            raise InvalidValueError(f"{path}, line {number}: source path, submit host, exec host and replacement are expected")
        found.append((fields[0], fields[1], fields[2], fields[3]))
    return found


def select_aliases(lines: "Iterable[tuple[str, str, str, str]]", host: str, paths: "Iterable[str]") -> list[Alias]:
    """The aliases that go with a job submitted on `host`: lines whose source is the beginning of one of its paths, or of an
    earlier replacement."""
    kept: list[Alias] = []
    known = [path for path in paths if path[:1] == "/"]
    for source, submit_host, exec_host, replacement in lines:
        if _is_host(submit_host, host) and any(_begins(path, source) for path in known):
            kept.append((source, exec_host, replacement))
            known.append(replacement)
            known += [replacement + path[len(source) :] for path in known if _begins(path, source)]
    return kept


def apply_aliases(path: str, aliases: "Iterable[Alias]", host: str) -> str:
    """The path on a host: all aliases are applied in sequence, each to the result of the alias before."""
    for source, exec_host, replacement in aliases:
        if _is_host(exec_host, host) and _begins(path, source):
            path = replacement + path[len(source) :]
    return path


def _is_host(entry: str, host: str) -> bool:
    """Whether an entry is `*` or the host's name; one of the two names may lack the domain."""
    entry, host = entry.lower(), host.lower()
    short = entry.partition(".")[0] == host.partition(".")[0] and ("." not in entry or "." not in host)
    return entry in ("*", host) or short


def _begins(path: str, source: str) -> bool:
    return path.startswith(source) and (source[-1:] == "/" or path[len(source) : len(source) + 1] in ("", "/"))
