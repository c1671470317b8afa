"""Objects of an old Grid Engine made objects of this system: what is taken, what is taken otherwise, and what cannot be.

Owns the differences that a configuration can run into, and their wording. Pure but for a look at whether a verifier is a
program here. Must not ask the qmaster, which refuses what only it can know. Called by `import_sge`. Source: adr/0159.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from clients.admin.cell_directory import Objects
from clients.admin.import_sge_sources import OldCell, OldText
from gridengine.config import KINDS
from gridengine.config.scheduler import PARAMETERS
from gridengine.errors import ConfigError, SyntaxFault
from gridengine.jsv.conversation import verifier_path
from gridengine.kinds import KIND, title
from gridengine.syntax.lists import is_none
from gridengine.syntax.object_file import Entry, parse_objects

Values = dict[str, str]
Adapt = Callable[[Values, Values], Iterator[str]]
"""(values of an old object, to be changed; those of the object of the same name here) -> what was changed, and why"""

#: what qconf prints of an exec host, and hosts say of themselves
_MEASURED = frozenset(("load_values", "processors"))
#: what `qconf -sconf` says of AFS and Java, which nothing here reads
_NOT_READ = ("set_token_cmd", "pag_cmd", "token_extend_time", "libjvm_path", "additional_jvm_args")


@dataclass(slots=True)
class Taken:
    """What came of an old configuration. `remarks`: what is otherwise than there, and why; `faults`: what cannot be taken at all;
    `left_out`: which of the wishes to leave something out were met.
    """

    objects: Objects = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    left_out: set[str] = field(default_factory=set)


def taken(old: OldCell, now: Objects, leave_out: frozenset[str] = frozenset()) -> Taken:
    """Make objects of the texts of an old cell. `now`: the configuration here; `leave_out`: KIND/NAME and KIND/NAME/ATTRIBUTE."""
    made = Taken()
    for text in old.texts:
        try:
            for values in _values_of(text):
                _take(made, text, values, now, leave_out)
        except ConfigError as error:
            made.faults.append(f"{text.where}: {error}")
    made.remarks += _programs_there(made.objects, old.root)
    return made


def _values_of(text: OldText) -> Iterator[list[Entry]]:
    if KIND[text.kind].bare:
        yield from ([("name", name, 0)] for name in text.text.split())
    elif text.text.strip():
        yield from parse_objects(text.kind, text.text)


def _take(made: Taken, text: OldText, entries: list[Entry], now: Objects, leave_out: frozenset[str]) -> None:
    """Add one object. Raises ConfigError."""
    kind, model = text.kind, KINDS[text.kind]
    named = text.name if kind == "configuration" else next((value for key, value, _ in entries if key == model.key), "")
    # a file that does not say whose it is has its name at least
    name = named or ("" if KIND[kind].single else text.name)
    label = f"{kind}/{name}" if name else kind
    if label in leave_out:
        made.left_out.add(label)
        made.remarks.append(f"{title(kind, name)} is left out, as you said")
        return
    here = now.get(kind, {}).get(name, {})
    if kind == "share_tree":
        entries = [("nodes", text.text, 0)]
    values: Values = {}
    for attribute, value, line in entries:
        known = model.old_names.get(attribute, attribute)
        if known in values and (kind, known) == ("resource_quota", "limit"):
            values[known] += f"\n{value}"
        elif known in values:
            raise ConfigError(kind, name, attribute, "the attribute is given twice", line)
        elif f"{label}/{known}" in leave_out:
            made.left_out.add(f"{label}/{known}")
            made.remarks.append(f"{title(kind, name)}: {known} is left out, as you said")
            if known in here:
                values[known] = here[known]
        elif known in model.model_fields:
            values[known] = value
        elif not (kind == "exec_host" and known in _MEASURED):
            made.remarks.append(f'{title(kind, name)}: the attribute "{attribute}" ({value}) is unknown here and is left out')
    if kind == "configuration" and name != "global":
        made.remarks += [f"{title(kind, name)}: {remark}" for remark in _local(values)]
    for adapt in _ADAPTED.get(kind, ()):
        made.remarks += [f"{title(kind, name)}: {remark}" for remark in adapt(values, here)]
    warnings: list[str] = []
    taken_entries = [(attribute, value, 0) for attribute, value in values.items()]
    parsed = model.parse(taken_entries, complete=False, name=name if kind == "configuration" else "", warnings=warnings)
    if parsed.object_name in made.objects.setdefault(kind, {}):
        raise ConfigError(kind, parsed.object_name, "", "it is there twice")
    made.objects[kind][parsed.object_name] = parsed.attributes()
    made.remarks += [f"{title(kind, name)}: {warning}" for warning in warnings]


def _local(values: Values) -> Iterator[str]:
    if values.pop("execd_spool_dir", None):
        yield "execd_spool_dir is left out: where a host has its spool says the bootstrap file of this cell"


def _spool_stays(values: Values, here: Values) -> Iterator[str]:
    old, own = values.get("execd_spool_dir"), here.get("execd_spool_dir")
    if old and own and old != own:
        values["execd_spool_dir"] = own
        yield f"execd_spool_dir stays {own}, which is this cell's, instead of {old}"


def _verifier_is_there(values: Values, here: Values) -> Iterator[str]:
    url = values.get("jsv_url", "none")
    if is_none(url):
        return
    try:
        path = verifier_path(url)[1]
    except SyntaxFault:
        return  # the model says what is wrong
    if not (os.path.isfile(path) and os.access(path, os.X_OK)):
        values["jsv_url"] = here.get("jsv_url", "none")
        yield (
            f"jsv_url {url} is not taken: there is no program {path} here, and without it no job could be submitted; "
            "put it there and set jsv_url by qconf -mconf"
        )


def _not_read(values: Values, here: Values) -> Iterator[str]:
    for attribute in _NOT_READ:
        if not is_none(values.get(attribute, "none")):
            yield f"{attribute} is taken, and has no effect here"
    for element in values.get("execd_params", "").replace(",", " ").split():
        if element.upper().startswith("ENABLE_ADDGRP_KILL="):
            yield "ENABLE_ADDGRP_KILL has no effect: all descendants of a job are killed anyway, and nothing else"
        elif element.upper().startswith("USE_CGROUPS="):
            yield "USE_CGROUPS limits memory, too: h_vmem is the memory of the job's cgroup"


def _known_parameters(values: Values, here: Values) -> Iterator[str]:
    elements = [] if is_none(values.get("params", "none")) else values["params"].replace(",", " ").split()
    unknown = [element for element in elements if element.partition("=")[0].upper() not in PARAMETERS]
    if unknown:
        values["params"] = ",".join(element for element in elements if element not in unknown) or "none"
        yield f"params {','.join(unknown)} is unknown here and is left out"


def _order_of_instances(values: Values, here: Values) -> Iterator[str]:
    text = values.get("qsort_args", "NONE")
    if not is_none(text) and not text.split()[0].endswith(".py"):
        values["qsort_args"] = "NONE"
        yield f"qsort_args {text} is left out: a function of a Python file does that here, not one of a C library"


def _tickets_of_departments(values: Values, here: Values) -> Iterator[str]:
    if "DEPT" in values.get("type", "").upper():
        return
    for attribute in ("fshare", "oticket"):
        if values.get(attribute, "0") != "0":
            yield f"{attribute} {values[attribute]} is left out: only departments have such, an access list's never counted"
            values[attribute] = "0"


_ADAPTED: dict[str, tuple[Adapt, ...]] = {
    "configuration": (_spool_stays, _verifier_is_there, _not_read),
    "scheduler": (_known_parameters,),
    "parallel_environment": (_order_of_instances,),
    "userset": (_tickets_of_departments,),
}


def _programs_there(objects: Objects, root: str) -> Iterator[str]:
    """Attributes that name a program or a directory below the old installation."""
    if not root:
        return
    for kind, named in objects.items():
        for name, attributes in named.items():
            for attribute, text in attributes.items():
                if f"{root}/" in text:
                    yield f"{title(kind, name)}: {attribute} names something of the old installation, which must stay: {text}"
