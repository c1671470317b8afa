"""Path aliases: how a directory of the submit host is called on the host of the job.

Owns the format of `sge_aliases` and what its lines do to a path. Pure and light: the submitting commands keep the lines that
may concern a job, its host applies them. Source: sge_aliases(5), sge_submit(1) -b -cwd -wd; SB-10.

    line = source submit_host exec_host replacement      lines that are blank or begin with # say nothing

Deviation: a source matches whole names of directories; in the original `/home/al` also changes `/home/alice`.
"""

from gridengine.errors import SyntaxFault

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterable

Alias = tuple[str, str, str]
"""(source, exec host or `*`, replacement)"""


def parse_aliases(text: str, path: str) -> list[tuple[str, str, str, str]]:
    """The lines of a file, each (source, submit host, exec host, replacement). Raises SyntaxFault that names the line."""
    found: list[tuple[str, str, str, str]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line[:1] == "#" or not line.strip():
            continue
        words = line.split()
        if len(words) != 4:
            raise SyntaxFault(f"{path}, line {number}: source path, submit host, exec host and replacement are expected")
        found.append((words[0], words[1], words[2], words[3]))
    return found


def concerning(lines: "Iterable[tuple[str, str, str, str]]", host: str, paths: "Iterable[str]") -> list[Alias]:
    """What a job takes along that is submitted on a host: lines whose source is the beginning of one of its paths, or of a
    replacement that was taken before."""
    kept: list[Alias] = []
    known = [path for path in paths if path[:1] == "/"]
    for source, submit_host, exec_host, replacement in lines:
        if _is_host(submit_host, host) and any(_begins(path, source) for path in known):
            kept.append((source, exec_host, replacement))
            known.append(replacement)
            known += [replacement + path[len(source) :] for path in known if _begins(path, source)]
    return kept


def on_host(path: str, aliases: "Iterable[Alias]", host: str) -> str:
    """The path as a host knows it: the aliases one after the other, each on what the ones before have made of it."""
    for source, exec_host, replacement in aliases:
        if _is_host(exec_host, host) and _begins(path, source):
            path = replacement + path[len(source) :]
    return path


def _is_host(entry: str, host: str) -> bool:
    """`*`, or the host's name; one of the two may lack the domain."""
    entry, host = entry.lower(), host.lower()
    short = entry.partition(".")[0] == host.partition(".")[0] and ("." not in entry or "." not in host)
    return entry in ("*", host) or short


def _begins(path: str, source: str) -> bool:
    return path.startswith(source) and (source[-1:] == "/" or path[len(source) : len(source) + 1] in ("", "/"))
