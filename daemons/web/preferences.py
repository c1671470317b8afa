"""The preferences of users: saved views of lists, templates of jobs, and the density of lists.

Owns the limits, and the file of each user, with mode 0600, since a template may hold a script. The file names its user: a user
with the number of a former user has no preferences yet. Called by the pages, through `Web.preferences`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from gridengine.errors import RefusalError, plain_fault
from gridengine.files.durable import durable_write
from gridengine.protocols.gdi.requests import Caller

_log = logging.getLogger(__name__)

MAX_VIEWS, MAX_TEMPLATES = 40, 20
MAX_NAME, MAX_ADDRESS = 60, 2000
"""Characters."""
MAX_TEMPLATE = 16 * 1024
"""Bytes of all fields of a template."""
_CACHED_USERS = 64


class PreferenceError(RefusalError):
    """A view or template that cannot be saved; the text is the reason."""


class SavedView(Struct, frozen=True):
    """A list with its filters, order and columns. `address`: path and query."""

    name: str
    address: str

    @property
    def path(self) -> str:
        return self.address.partition("?")[0]


class JobTemplate(Struct, frozen=True):
    """A filled-in form of the submit page. `values`: by the names of its fields."""

    name: str
    values: dict[str, str]


class UserPreferences(Struct, frozen=True):
    """The preferences of `user`: saved `views` of lists, `templates` of jobs. `is_compact`: rows of lists are low."""

    user: str
    views: tuple[SavedView, ...] = ()
    templates: tuple[JobTemplate, ...] = ()
    is_compact: bool = False

    def views_of(self, path: str) -> list[SavedView]:
        """The saved views of the list at a path."""
        return [each for each in self.views if each.path == path]

    def template(self, name: str) -> JobTemplate | None:
        """The template of this name."""
        return next((each for each in self.templates if each.name == name), None)

    def with_view(self, view: SavedView) -> UserPreferences:
        """With a further view, which replaces a view of the same list and name. Raises PreferenceError."""
        _check_name(view.name)
        if len(view.address) > MAX_ADDRESS:
            raise PreferenceError(f"the address of a view has at most {MAX_ADDRESS:,} characters")
        others = self.without_view(view).views
        if len(others) >= MAX_VIEWS:
            raise PreferenceError(f"you have {MAX_VIEWS} views, the most that are kept: delete one first")
        return structs.replace(self, views=(*others, view))

    def without_view(self, view: SavedView) -> UserPreferences:
        """Without the view of this list and name."""
        key = (view.path, view.name)
        return structs.replace(self, views=tuple(each for each in self.views if (each.path, each.name) != key))

    def with_template(self, name: str, values: Mapping[str, str]) -> UserPreferences:
        """With a further template, which replaces a template of the same name. Raises PreferenceError."""
        _check_name(name)
        size = sum(len(field.encode()) + len(value.encode()) for field, value in values.items())
        if size > MAX_TEMPLATE:
            raise PreferenceError(f"the form has {size:,} bytes; a template has at most {MAX_TEMPLATE:,}")
        others = self.without_template(name).templates
        if len(others) >= MAX_TEMPLATES:
            raise PreferenceError(f"you have {MAX_TEMPLATES} templates, the most that are kept: delete one first")
        return structs.replace(self, templates=(*others, JobTemplate(name, dict(values))))

    def without_template(self, name: str) -> UserPreferences:
        """Without the template of this name."""
        return structs.replace(self, templates=tuple(each for each in self.templates if each.name != name))


class PreferenceStore:
    """The preferences of all users. `directory`: of the files, None to keep them in memory only. `version`: number of changes."""

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = directory
        self.version = 0
        self._lock = asyncio.Lock()
        self._cached: OrderedDict[int, UserPreferences] = OrderedDict()

    def of(self, caller: Caller) -> UserPreferences:
        """The preferences of a user."""
        known = self._cached.get(caller.uid)
        if known is None or known.user != caller.user:
            known = self._read(caller)
            self._cache(caller.uid, known)
        return known

    async def keep(self, caller: Caller, changed: UserPreferences) -> None:
        """Replace the preferences of a user. Raises PreferenceError if the file cannot be written; nothing is changed then."""
        async with self._lock:  # the later content must be written last
            if self._directory is not None:
                try:
                    await asyncio.to_thread(_write, self._path(self._directory, caller), changed)
                except OSError as error:
                    raise PreferenceError(f"the web server cannot save it: {error.strerror}") from error
            self._cache(caller.uid, changed)
            self.version += 1

    def _cache(self, uid: int, kept: UserPreferences) -> None:
        self._cached[uid] = kept
        self._cached.move_to_end(uid)
        while self._directory is not None and len(self._cached) > _CACHED_USERS:
            self._cached.popitem(last=False)

    def _read(self, caller: Caller) -> UserPreferences:
        if self._directory is not None:
            path = self._path(self._directory, caller)
            try:
                kept = msgspec.json.decode(path.read_bytes(), type=UserPreferences)
            except FileNotFoundError:
                pass
            except (OSError, msgspec.DecodeError) as error:
                _log.warning("cannot read %s: %s", path, plain_fault(error))
            else:
                if kept.user == caller.user:
                    return kept
        return UserPreferences(caller.user)

    @staticmethod
    def _path(directory: Path, caller: Caller) -> Path:
        return directory / f"{caller.uid}.json"


def _write(path: Path, kept: UserPreferences) -> None:
    path.parent.mkdir(mode=0o700, exist_ok=True)
    durable_write(path, msgspec.json.encode(kept))


def _check_name(name: str) -> None:
    if not name or len(name) > MAX_NAME or not name.isprintable():
        raise PreferenceError(f"a name of 1 to {MAX_NAME} printable characters is required")
