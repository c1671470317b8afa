"""The files of a cell's `common` directory that are `key value` lines, as bootstrap is.

Owns their grammar, and that of `act_qmaster`: who opens them, and what the values mean, differs from program to program. Light,
since every command reads bootstrap to find its qmaster. Called by `clients.gdi`, `clients.admin.cell` and `daemons.runtime.cell`.
Source: sge_bootstrap(5).
"""

from gridengine.errors import SyntaxFault

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Collection

HOST_FILES = (
    *("act_qmaster", "shadow_masters", "bootstrap", "host_aliases", "cell_id", "cluster_name"),
    *("sge_request", "sge_qstat", "sge_aliases", "sge_qquota", "sge_qrstat", "sge_ar_request", "qtask"),
)
"""Names in `common/` of what every host needs and the qmaster owns (adr/0173). Certificates and keys are never among them."""


def master_named(text: str, path: object) -> str:
    """The master host that `act_qmaster` names. path: of the file, for the reason. Raises SyntaxFault: it names none."""
    words = text.split()
    if not words:
        raise SyntaxFault(f"{path} is empty: it must name the master host")
    if len(words) > 1 or not all(letter.isalnum() or letter in "-._:" for letter in words[0]):
        raise SyntaxFault(f"{path} must hold the name of the master host, and nothing else")
    return words[0]


def parse_settings(text: str, path: object, required: "Collection[str]" = ()) -> dict[str, str]:
    """The settings of such a file; `#` starts a comment line.

    path: of the file, for the reason. Raises SyntaxFault: a line without a value, or one of `required` is missing.
    """
    settings: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split(None, 1)
        if not words or words[0].startswith("#"):
            continue
        if len(words) == 1:
            raise SyntaxFault(f"{path}, line {number}: {words[0]} has no value")
        settings[words[0]] = words[1].strip()
    missing = [key for key in required if key not in settings]
    if missing:
        raise SyntaxFault(f"{path} does not say {', '.join(missing)}")
    return settings
