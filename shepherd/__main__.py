"""`sge_shepherd`: be the shepherd of the task in the working directory.

Used by wrappers that `shepherd_cmd` names; without a wrapper the launcher forks shepherds itself. Source: sge_conf(5); EX-15.
"""

import sys
from pathlib import Path

from gridengine.protocols.task_file import CONFIG
from shepherd import process_tree
from shepherd.shepherd_process import shepherd


def main() -> int:
    """Arguments are ignored, as wrappers pass theirs on. Exit 1 if the working directory is not the directory of a task."""
    directory = Path.cwd()
    if not (directory / CONFIG).exists():
        print("sge_shepherd: the working directory is not that of a task; only sge_execd starts it", file=sys.stderr)
        return 1
    process_tree.detach()
    shepherd(directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
