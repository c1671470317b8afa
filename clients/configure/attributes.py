"""Changing single attributes of objects, queue domains and queue instances, and members of access lists.

Owns the requests of qconf -Xattr, -purge, -au and -du. Called by `clients.qconf`. Source: QF-1 … QF-8, QF-26.
"""

from clients import program
from clients.configure.methods import note_missing
from gridengine.errors import InvalidValueError
from gridengine.kinds import KIND_BY_OPTION_NAME
from gridengine.syntax.object_file import parse


def change(verb: str, values: list[str]) -> int:
    """-aattr, -dattr, -mattr, -rattr, -purge: change each named instance separately."""
    if verb == "purge":
        kind, attributes, *instances = values
        changes = [(attribute, "") for attribute in attributes.split(",") if attribute]
    else:
        kind, attribute, value, *instances = values
        changes = [(attribute, value)]
    return _send(verb, kind, changes, instances)


def change_by_file(verb: str, values: list[str]) -> int:
    """-Aattr, -Dattr, -Mattr, -Rattr: the attributes of a file, a line each; an instance gets all changes or none."""
    kind, path, *instances = values
    changes = [(attribute, value) for attribute, value, _ in parse(program.file_text(path))]
    if not changes:
        raise InvalidValueError(f"{path} names no attribute")
    names = [attribute for attribute, _ in changes]
    if doubled := next((name for name in names if names.count(name) > 1), ""):
        raise InvalidValueError(f'{path}: attribute "{doubled}" is given more than once')
    return _send(verb, kind, changes, instances)


def _kind(name: str) -> str:
    if name not in KIND_BY_OPTION_NAME:
        raise InvalidValueError(f'object name "{name}" is not supported, it must be one of {", ".join(KIND_BY_OPTION_NAME)}')
    return KIND_BY_OPTION_NAME[name]


def _send(verb: str, kind: str, changes: list[tuple[str, str]], instances: list[str]) -> int:
    names = [name for instance in instances for name in instance.split(",") if name]
    if not names or not changes:
        raise InvalidValueError("no object is named" if changes else "no attribute is named")
    status, accepted = 0, False
    for name in names:
        body = {"verb": verb, "kind": _kind(kind), "name": name, "changes": changes}
        refused = program.request("config_attributes", body)
        accepted = accepted or not refused
        status = refused or status
    if accepted and verb in ("add", "modify", "replace"):
        note_missing(_kind(kind), changes)
    return status


def change_users(verb: str, values: list[str]) -> int:
    """-au, -du: add users to access lists, or delete them; `add` creates a missing list (QF-26)."""
    users, lists = (value.replace(",", " ").split() for value in values)
    return program.request("change_users", {"verb": verb, "users": users, "lists": lists})
