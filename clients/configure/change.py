"""Changing configuration objects: from files, in the editor, by names.

Owns the reading of object files, the editor, and the resulting requests. Called by `clients.qconf`.
Source: QF-9 … QF-33. No request is sent when the text was not changed in the editor or the editor failed.
"""

import os

from clients import gdi, program
from clients.configure.methods import note_missing
from clients.configure.show import object_text, objects_text
from gridengine.errors import ConfigError, InvalidValueError, plain_fault
from gridengine.files.executables import spawn
from gridengine.kinds import KIND
from gridengine.syntax.object_file import Entry, parse_objects

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Callable


def add_names(kind: str, values: list[str]) -> int:
    """-ah, -as, -am, -ao: add objects without attributes."""
    return _for_each_name(values, lambda name: program.request("config_add", {"kind": kind, "name": name}))


def delete(kind: str, values: list[str]) -> int:
    """Delete objects, each by its own request (QF-38)."""
    names = values or [kind]
    return _for_each_name(names, lambda name: program.request("config_delete", {"kind": kind, "name": name}))


def _for_each_name(values: list[str], change: "Callable[[str], int]") -> int:
    status = 0
    for value in values:
        for name in value.replace(",", " ").split():
            status = change(name) or status
    return status


def clean(values: list[str]) -> int:
    """-cq: remove all jobs from queues without waiting for their hosts (QF-14)."""
    return program.request("clean_queues", {"queues": [name for value in values for name in value.split(",") if name]})


def send_files(verb: str, kind: str, values: list[str]) -> int:
    """-Ax, -Mx: add or modify the objects of files. The host of a configuration is the name of its file."""
    names = values[0].split(",") if kind == "configuration" else [values[0]]
    status = 0
    for path in names:
        text = program.file_text(path)
        name = os.path.basename(path) if kind == "configuration" else ""
        only = values[1].split(",") if len(values) > 1 else None
        status = _send(verb, kind, text, path, name, only) or status
    return status


def _send(verb: str, kind: str, text: str, source: str, name: str = "", only: "list[str] | None" = None) -> int:
    """Send the objects of a text; only the objects in `only` if it is given. Raises ConfigError for invalid objects."""
    objects = parse_objects(kind, text)
    if not objects or not objects[0]:
        raise InvalidValueError(f"{source} describes no object")
    if kind == "complex":
        # the table is a single object: all rows in one request
        objects = [[entry for row in objects for entry in row]]
    if kind == "resource_quota" and verb == "modify" and only is None:
        return program.request("config_replace", {"kind": kind, "objects": objects})
    status = 0
    for missing in sorted(set(only or ()) - {_name(kind, entries) for entries in objects}):
        program.print_error(f'{source} does not describe "{missing}"')
        status = 1
    for entries in objects:
        own = name or (kind if KIND[kind].single else "") or _name(kind, entries)
        if only is None or own in only:
            body = {"kind": kind, "name": own, "attributes": entries, "source": source}
            refused = program.request(f"config_{verb}", body)
            if not refused:
                note_missing(kind, [(attribute, value) for attribute, value, _ in entries])
            status = refused or status
    return status


def _name(kind: str, entries: list[Entry]) -> str:
    key = KIND[kind].key
    return next((value for attribute, value, _ in entries if attribute == key), "")


def add_edited(kind: str, values: list[str]) -> int:
    """-ax: the template, with its name filled in, in the editor."""
    program.read("may_configure", {})
    status = 0
    for name in values[0].split(",") if values else [""]:
        status = _edit("add", kind, _template_text(kind, name), name if kind == "configuration" else "") or status
    return status


def _template_text(kind: str, name: str) -> str:
    """The text to edit for a new object: of an execution host the attributes of the named host, otherwise the defaults."""
    if kind == "exec_host" and name not in ("", "template"):
        hosts = program.read("config_show", {"kind": kind, "names": [name]})
        return object_text(kind, {**hosts[0]["attributes"], "hostname": "template"})
    attributes = program.read("config_template", {"kind": kind, "name": name})
    if name and kind != "configuration":
        attributes[KIND[kind].key] = name
    return object_text(kind, attributes, name if kind == "configuration" else "")


def modify_edited(kind: str, values: list[str]) -> int:
    """-mx: the current object in the editor; a missing object is created if the kind allows it."""
    program.read("may_configure", {})
    names = [name for value in values for name in value.split(",")] or (["global"] if kind == "configuration" else [])
    if kind in ("complex", "resource_quota"):
        objects = program.read("config_show", {"kind": kind, "names": names or None})
        return _edit("modify", kind, objects_text(kind, objects), "", only=names or None)
    status = 0
    for name in names or [kind]:
        status = _edit_object(kind, name) or status
    return status


def _edit_object(kind: str, name: str) -> int:
    answer = gdi.call("config_show", {"kind": kind, "names": [name] if not KIND[kind].single else None})
    if not answer.data and KIND[kind].made_by_editing:
        text = _template_text(kind, "" if KIND[kind].single else name)
        return _edit("add", kind, text, name if kind == "configuration" else "")
    status = program.show_answers(answer)
    for each in answer.data:
        own = each["name"] if kind == "configuration" else ""
        status = _edit("modify", kind, object_text(kind, each["attributes"], own), own) or status
    return status


def _edit(verb: str, kind: str, text: str, name: str, only: "list[str] | None" = None) -> int:
    """Open the editor with a text, and send the result. An unchanged text is not sent, unless the name alone makes an object.

    At a terminal a refused text can be edited again.
    """
    result = _edit_text(kind, text)
    while result is not None:
        if result == text and (verb == "modify" or not KIND[kind].made_by_name):
            program.print_error("nothing was changed")
            return int(not KIND[kind].unchanged_is_fine)
        try:
            status = _send(verb, kind, result, "the edited text", name, only)
        except (ConfigError, InvalidValueError) as refusal:
            if not _is_retry_requested(str(refusal)):
                raise
        else:
            if not status or not _is_retry_requested():
                return status
        result = _edit_text(kind, result)
    program.print_error("the editor failed, nothing was changed")
    return 1


def _edit_text(kind: str, text: str) -> "str | None":
    """The edited text; None when the editor failed."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="qconf-") as directory:
        path = os.path.join(directory, f"{kind}.txt")
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        # editors replace the file, or remove it: read it by its name
        return program.file_text(path) if _run_editor(path) else None


def _is_retry_requested(refusal: str = "") -> bool:
    """Whether the user wants to edit a refused text again; asks only at a terminal."""
    if not (os.isatty(0) and os.isatty(2)):
        return False
    if refusal:
        program.print_error(refusal)
    os.write(2, b"Edit it again? [y/n] ")
    return os.read(0, 256).strip().lower() in (b"y", b"yes")


def _run_editor(path: str) -> bool:
    """Run EDITOR, VISUAL or vi on a file, without a shell; whether the editor succeeded. A failure is reported.

    The variable is the path of a program, which may contain blanks, or a program with its arguments.
    """
    import shlex

    editor = os.environ.get("EDITOR") or os.environ.get("VISUAL") or "vi"
    try:
        argv = [editor] if os.path.isfile(editor) and os.access(editor, os.X_OK) else shlex.split(editor)
        status = os.waitstatus_to_exitcode(os.waitpid(spawn([*argv, path]), 0)[1])
    except (OSError, ValueError, IndexError) as error:
        program.print_error(f'the editor "{editor}" cannot be started: {plain_fault(error)}')
        return False
    if status:
        ended = f"was ended by signal {-status}" if status < 0 else f"exited with {status}"
        program.print_error(f'the editor "{editor}" {ended}')
    return not status
