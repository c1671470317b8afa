"""The files below SGE_ROOT for programs, beside the cells: libraries, commands and `utilbin` by architecture, scripts in `util`.

Owns these names, which are the names of 8.1.9. Existing files stay: a root may be shared, or hold a site's own files. Called by
`creation` and `join`.
"""

from __future__ import annotations

import os
from pathlib import Path

from clients.admin.installation import Installation
from gridengine.files.architecture import ARCHITECTURES, architecture
from gridengine.files.durable import write_new

#: helper libraries of verifiers, and the names by which scripts of 8.1.9 load them
_VERIFIER_LIBRARIES = {"jsv.sh": "jsv_include.sh", "JSV.pm": "JSV.pm", "jsv_include.tcl": "jsv_include.tcl", "jsv.py": "jsv.py"}
#: scripts about hosts, and the file of each in cluster-config/scripts
_SCRIPTS = {
    **dict.fromkeys(("busy-nodes", "dead-nodes", "idle-nodes", "nodes-in-job"), "node-list"),
    "qselect-node-list": "qselect-node-list",
}
_ARCH = """\
#!/bin/sh
# The architecture of this host, as in the load value `arch`; -lib: the variable with the directories of libraries.
case $1 in
  -lib) echo LD_LIBRARY_PATH; exit ;;
  -m) manpath 2>/dev/null || echo /usr/share/man; exit ;;
  -mt) echo man; exit ;;
esac
case $(uname -m) in
{cases}
  *) echo "lx-$(uname -m)" ;;
esac
"""


def provide(root: Path, installation: Installation) -> None:
    """Make the missing files. Raises OSError."""
    for name, known_as in _VERIFIER_LIBRARIES.items():
        _new(root / "util" / "resources" / "jsv" / known_as, (installation.cluster_config / "jsv" / name).read_text())
    for name, script in _SCRIPTS.items():
        _new(root / "util" / name, (installation.cluster_config / "scripts" / script).read_text(), 0o755)
    cases = "\n".join(f"  {machine}) echo {name} ;;" for machine, name in ARCHITECTURES.items())
    _new(root / "util" / "arch", _ARCH.format(cases=cases), 0o755)
    _link(root / "bin" / architecture(os.uname().machine), installation.bin)
    utilities = Path("utilbin", architecture(os.uname().machine))
    _link(root / utilities, installation.bin.parent / utilities)
    _link(library_of(root).parent, library_of(installation.bin.parent).parent)


def library_of(prefix: Path) -> Path:
    """The path of the DRMAA library for this machine, below an installation or below SGE_ROOT."""
    return prefix / "lib" / architecture(os.uname().machine) / "libdrmaa.so"


def _new(path: Path, text: str, mode: int = 0o644) -> None:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_new(path, text.encode(), mode)


def _link(link: Path, target: Path) -> None:
    if target.is_dir() and not (link.exists() or link.is_symlink()):
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)
