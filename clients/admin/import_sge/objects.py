"""Conversion of objects of an old Grid Engine to objects of this system: converted, changed, or rejected.

Owns the differences between the systems, and the remarks on them. Pure, except for a check whether a verifier is a program here.
Must not contact the qmaster, which validates the result. Called by `command`. Source: adr/0159.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from clients.admin.cell_directory import Objects
from clients.admin.import_sge.sources import OldCell, OldText
from clients.admin.import_sge.unit_properties import without_properties
from gridengine.config import KINDS
from gridengine.config.scheduler import PARAMETERS
from gridengine.errors import ConfigError, InvalidValueError
from gridengine.jsv.conversation import verifier_path
from gridengine.kinds import KIND, title
from gridengine.syntax.lists import is_none
from gridengine.syntax.object_file import Entry, parse_objects

Values = dict[str, str]
Adapt = Callable[[Values, Values], Iterator[str]]
"""(values of an old object, to be changed; values of the object of the same name here) -> remarks on the changes"""

#: attributes of an exec host that the host reports itself
_MEASURED = frozenset(("load_values", "processors"))
#: attributes of `qconf -sconf` for AFS and Java, which this system does not use
_UNUSED_ATTRIBUTES = ("set_token_cmd", "pag_cmd", "token_extend_time", "libjvm_path", "additional_jvm_args")


@dataclass(slots=True)
class Converted:
    """The result of the conversion. `remarks`: the differences with their reasons; `faults`: objects that cannot be converted;
    `left_out`: the `--leave-out` names that matched.
    """

    objects: Objects = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    left_out: set[str] = field(default_factory=set)


def convert_objects(old: OldCell, now: Objects, leave_out: frozenset[str] = frozenset()) -> Converted:
    """Convert the texts of an old cell to objects. `now`: the configuration here; `leave_out`: KIND/NAME and KIND/NAME/ATTRIBUTE.
    """
    made = Converted()
    for text in old.texts:
        try:
            for values in _values_of(text):
                _convert_object(made, text, values, now, leave_out)
        except ConfigError as error:
            made.faults.append(f"{text.where}: {error}")
    made.remarks += _report_old_paths(made.objects, old.root)
    return made


def _values_of(text: OldText) -> Iterator[list[Entry]]:
    if KIND[text.kind].bare:
        yield from ([("name", name, 0)] for name in text.text.split())
    elif text.text.strip():
        yield from parse_objects(text.kind, text.text)


def _convert_object(made: Converted, text: OldText, entries: list[Entry], now: Objects, leave_out: frozenset[str]) -> None:
    """Add one object. Raises ConfigError."""
    kind, model = text.kind, KINDS[text.kind]
    named = text.name if kind == "configuration" else next((value for key, value, _ in entries if key == model.key), "")
    # a file without its key attribute has at least its name
    name = named or ("" if KIND[kind].single else text.name)
    label = f"{kind}/{name}" if name else kind
    if label in leave_out:
        made.left_out.add(label)
        made.remarks.append(f"{title(kind, name)} is left out, as requested")
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
            made.remarks.append(f"{title(kind, name)}: {known} is left out, as requested")
            if known in here:
                values[known] = here[known]
        elif known in model.model_fields:
            values[known] = value
        elif not (kind == "exec_host" and known in _MEASURED):
            made.remarks.append(f'{title(kind, name)}: the attribute "{attribute}" ({value}) is unknown here and is left out')
    if kind == "configuration" and name != "global":
        made.remarks += [f"{title(kind, name)}: {remark}" for remark in _drop_local_spool(values)]
    if kind == "exec_host" and "complex_values" in values:
        made.remarks += [f"{title(kind, name)}: {remark}" for remark in _move_unit_properties(made.objects, name, values)]
    for adapt in _ADAPTERS.get(kind, ()):
        made.remarks += [f"{title(kind, name)}: {remark}" for remark in adapt(values, here)]
    warnings: list[str] = []
    taken_entries = [(attribute, value, 0) for attribute, value in values.items()]
    parsed = model.parse(taken_entries, complete=False, name=name if kind == "configuration" else "", warnings=warnings)
    if parsed.object_name in made.objects.setdefault(kind, {}):
        raise ConfigError(kind, parsed.object_name, "", "it is defined twice")
    made.objects[kind][parsed.object_name] = parsed.attributes()
    made.remarks += [f"{title(kind, name)}: {warning}" for warning in warnings]


def _move_unit_properties(objects: Objects, host: str, values: Values) -> Iterator[str]:
    """Move the properties of named units from complex_values to an object of their own."""
    try:
        values["complex_values"], units, left_out = without_properties(values["complex_values"])
    except InvalidValueError as fault:
        raise ConfigError("exec_host", host, "complex_values", str(fault)) from None
    if not is_none(units) and host == "global":
        yield "the properties of its units are left out: only units of a host have properties here"
    elif not is_none(units):
        objects.setdefault("host_units", {})[host] = {"hostname": host, "units": units}
        yield f"the properties of its units are host units here (qconf -sunit {host})"
    if left_out:
        yield f"left out of complex_values, because host units have no such property: {', '.join(left_out)}"


def _drop_local_spool(values: Values) -> Iterator[str]:
    if values.pop("execd_spool_dir", None):
        yield "execd_spool_dir is left out: the bootstrap file of this cell defines the spool of hosts"


def _keep_spool_directory(values: Values, here: Values) -> Iterator[str]:
    old, own = values.get("execd_spool_dir"), here.get("execd_spool_dir")
    if old and own and old != own:
        values["execd_spool_dir"] = own
        yield f"execd_spool_dir stays {own}, the directory of this cell, instead of {old}"


def _check_verifier(values: Values, here: Values) -> Iterator[str]:
    url = values.get("jsv_url", "none")
    if is_none(url):
        return
    try:
        path = verifier_path(url)[1]
    except InvalidValueError:
        return  # the model reports the fault
    if not (os.path.isfile(path) and os.access(path, os.X_OK)):
        values["jsv_url"] = here.get("jsv_url", "none")
        yield (
            f"jsv_url {url} is not taken: there is no program {path} here, and no job could be submitted;  "
            "install it and set jsv_url by qconf -mconf"
        )


def _report_unused_attributes(values: Values, here: Values) -> Iterator[str]:
    for attribute in _UNUSED_ATTRIBUTES:
        if not is_none(values.get(attribute, "none")):
            yield f"{attribute} is taken, and has no effect here"
    for element in values.get("execd_params", "").replace(",", " ").split():
        if element.upper().startswith("ENABLE_ADDGRP_KILL="):
            yield "ENABLE_ADDGRP_KILL has no effect: all descendants of a job, and no other processes, are always killed"
        elif element.upper().startswith("USE_CGROUPS="):
            yield "USE_CGROUPS also limits memory: h_vmem is the memory limit of the job's cgroup"


def _drop_unknown_parameters(values: Values, here: Values) -> Iterator[str]:
    elements = [] if is_none(values.get("params", "none")) else values["params"].replace(",", " ").split()
    unknown = [element for element in elements if element.partition("=")[0].upper() not in PARAMETERS]
    if unknown:
        values["params"] = ",".join(element for element in elements if element not in unknown) or "none"
        yield f"params {','.join(unknown)} is unknown here and is left out"


def _drop_instance_order(values: Values, here: Values) -> Iterator[str]:
    text = values.get("qsort_args", "NONE")
    if not is_none(text) and not text.split()[0].endswith(".py"):
        values["qsort_args"] = "NONE"
        yield f"qsort_args {text} is left out: this system takes a function of a Python file, not of a C library"


def _drop_tickets_of_access_lists(values: Values, here: Values) -> Iterator[str]:
    if "DEPT" in values.get("type", "").upper():
        return
    for attribute in ("fshare", "oticket"):
        if values.get(attribute, "0") != "0":
            yield f"{attribute} {values[attribute]} is left out: only departments have it, in an access list it never counted"
            values[attribute] = "0"


_ADAPTERS: dict[str, tuple[Adapt, ...]] = {
    "configuration": (_keep_spool_directory, _check_verifier, _report_unused_attributes),
    "scheduler": (_drop_unknown_parameters,),
    "parallel_environment": (_drop_instance_order,),
    "userset": (_drop_tickets_of_access_lists,),
}


def _report_old_paths(objects: Objects, root: str) -> Iterator[str]:
    """Remarks on attributes that name a program or a directory below the old installation."""
    if not root:
        return
    for kind, named in objects.items():
        for name, attributes in named.items():
            for attribute, text in attributes.items():
                if f"{root}/" in text:
                    yield f"{title(kind, name)}: {attribute} names a path in the old installation, which must stay: {text}"
