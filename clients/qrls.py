"""qrls: release jobs from holds. Source: qrls(1); statement SO-49."""

from clients import program
from clients.qhold import hold


def qrls(arguments: list[str]) -> int:
    return hold("qrls", arguments, release=True)


def main() -> int:
    return program.run("qrls", qrls)
