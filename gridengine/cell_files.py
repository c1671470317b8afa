"""The files of a cell's `common` directory that are `key value` lines, such as bootstrap.

Owns their grammar, and the grammar of `act_qmaster` and `racks`. The callers open the files, and give the values their meaning.
Light, since every command reads bootstrap to find its qmaster. Called by `clients.gdi`, `clients.admin` and `daemons`.
Source: sge_bootstrap(5).
"""

from gridengine.errors import InvalidValueError

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Collection

HOST_FILES = (
    "act_qmaster", "shadow_masters", "racks", "bootstrap", "host_aliases", "cell_id", "cluster_name",
    "sge_request", "sge_qstat", "sge_aliases", "sge_qquota", "sge_qrstat", "sge_ar_request", "qtask",
)
"""Names of the files in `common/` that every host needs and the qmaster owns (adr/0173), never certificates or keys."""


def parse_master_name(text: str, path: object) -> str:
    """The master host that `act_qmaster` names. path: of the file, for the reason. Raises InvalidValueError if it names none."""
    tokens = text.split()
    if not tokens:
        raise InvalidValueError(f"{path} is empty: it must name the master host")
    if len(tokens) > 1 or not all(character.isalnum() or character in "-._:" for character in tokens[0]):
        raise InvalidValueError(f"{path} must hold the name of the master host, and nothing else")
    return tokens[0]


def parse_settings(text: str, path: object, required: "Collection[str]" = ()) -> dict[str, str]:
    """The settings of such a file; `#` starts a comment line.

    path: of the file, for the reason. Raises InvalidValueError if a line has no value, or a `required` setting is missing.
    """
    settings: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        tokens = line.split(None, 1)
        if not tokens or tokens[0].startswith("#"):
            continue
        if len(tokens) == 1:
            raise InvalidValueError(f"{path}, line {number}: {tokens[0]} has no value: a line is NAME VALUE")
        settings[tokens[0]] = tokens[1].strip()
    missing = [key for key in required if key not in settings]
    if missing:
        raise InvalidValueError(f"{path} does not set {', '.join(missing)}")
    return settings


def parse_racks(text: str, path: object) -> dict[str, list[str]]:
    """The hosts of each rack: a line is RACK HOST..., a rack may have several lines, and `#` starts a comment.

    path: of the file, for the reason. Raises InvalidValueError if a host is in two racks.
    """
    racks: dict[str, list[str]] = {}
    rack_of: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        rack, *hosts = line.partition("#")[0].split() or [""]
        for host in hosts:
            if rack_of.setdefault(host, rack) != rack:
                raise InvalidValueError(f"{path}, line {number}: {host} is in rack {rack_of[host]} already")
            if host not in racks.setdefault(rack, []):
                racks[rack].append(host)
    return racks
