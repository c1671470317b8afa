"""Users, projects, and usersets (access lists and departments).

Owns their attributes and checks, and the rule that a user is in one department only. Called through
`gridengine.config.KINDS`. Source: user(5), project(5), access_list(5); US-1..4.
"""

from collections.abc import Iterable
from typing import Annotated, ClassVar

from gridengine.config.attribute_types import (
    AttributeType,
    Number,
    ObjectName,
    Usersets,
    given,
    none_or,
    object_name,
    refers_to,
    typed,
)
from gridengine.config.objects import ConfigObject
from gridengine.errors import ConfigError, InvalidValueError
from gridengine.syntax.lists import check_object_name, is_none, join_names, split_names

DEFAULT_DEPARTMENT = "defaultdepartment"
"""The department of all users without another department. Source: access_list(5); US-4."""


class User(ConfigObject):
    """A user known to the ticket policies."""

    kind: ClassVar[str] = "user"

    name: ObjectName
    oticket: Number = "0"
    fshare: Number = "0"
    delete_time: Number = "0"
    default_project: Annotated[str, AttributeType(none_or(object_name), refers_to("project"))] = "NONE"


class Project(ConfigObject):
    """A project: its tickets and the users that may submit to it."""

    kind: ClassVar[str] = "project"

    name: ObjectName
    oticket: Number = "0"
    fshare: Number = "0"
    acl: Usersets = "NONE"
    xacl: Usersets = "NONE"

    def check(self) -> None:
        """Refuse a userset that has access and is excluded. Source: O."""
        for name in set(split_names(self.acl)) & set(split_names(self.xacl)) - {"NONE"}:
            raise ConfigError(self.kind, self.name, "xacl", f'the userset "{name}" is in acl and in xacl')


@typed("names", "ACL", "DEPT")
def _userset_type(text: str) -> str:
    tokens = given(text).upper().replace(",", " ").split()
    for token in tokens:
        if token not in ("ACL", "DEPT"):
            raise InvalidValueError(f'"{token}" is neither ACL nor DEPT')
    return " ".join(token for token in ("ACL", "DEPT") if token in tokens)


@typed("names", "NONE")
def _entries(text: str) -> str:
    """Users and @groups (primary groups), divided by commas."""
    names = split_names(given(text))
    for name in names:
        check_object_name(name.removeprefix("@"))
    return join_names(names, ",")


class Userset(ConfigObject):
    """An access list, a department, or both kinds together."""

    kind: ClassVar[str] = "userset"

    name: ObjectName
    type: Annotated[str, AttributeType(_userset_type)] = "ACL"
    fshare: Number = "0"
    oticket: Number = "0"
    entries: Annotated[str, AttributeType(_entries)] = "NONE"

    def check(self) -> None:
        """Only departments have shares and override tickets; the default department lists no users.

        Source: access_list(5) fshare, oticket; US-3; O.
        """
        if self.name == DEFAULT_DEPARTMENT and not is_none(self.entries):
            raise ConfigError(self.kind, self.name, "entries", "it holds all users without a department, and must not list users")
        for attribute, text in (("fshare", self.fshare), ("oticket", self.oticket)):
            if text != "0" and not self.is_department:
                raise ConfigError(self.kind, self.name, attribute, f"{text} is not 0, and the type ACL has no share of tickets")

    @property
    def is_department(self) -> bool:
        """Whether its functional shares and override tickets count."""
        return "DEPT" in self.type.split()

    def holds(self, user: str, group: str) -> bool:
        """Whether the user, or the primary group by its @name, is listed."""
        return not {user, f"@{group}"}.isdisjoint(split_names(self.entries))


def check_departments(usersets: Iterable[Userset]) -> None:
    """Refuse a user or group that is listed in two departments. Raises ConfigError. Source: US-4."""
    department_of: dict[str, str] = {}
    for userset in usersets:
        if not userset.is_department or is_none(userset.entries):
            continue
        for entry in split_names(userset.entries):
            other = department_of.setdefault(entry, userset.name)
            if other != userset.name:
                reason = f'"{entry}" is already in the department "{other}"'
                raise ConfigError("userset", userset.name, "entries", reason)
