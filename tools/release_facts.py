"""Prints the facts of the release that is found first on the module path: `release.json` of an installation.

Called by `tools/install`, with the libraries of that release and the time of its commit, epoch s.
"""

from __future__ import annotations

import json
import sys

from daemons.qmaster.spooling.spool_versions import VERSION
from gridengine.protocols.protocol import PROTOCOL

if __name__ == "__main__":
    print(json.dumps({"protocol": PROTOCOL, "spool": VERSION, "libraries": sys.argv[1], "date": int(sys.argv[2])}))
