"""qrls: release jobs from holds. Source: qrls(1); statement SO-49."""

from clients.qhold import change_holds


def qrls(arguments: list[str]) -> int:
    return change_holds("qrls", arguments, release=True)
