"""qrstat -xml: reservations as the schema of the advance reservation specification wants them (AR-113, AR-114).

Owns element names and their order. Called by qrstat. Deviation: 8.1.9 itself prints other names than its specification,
one of them with blanks in it, which no parser takes.
"""

from clients.render.xml_jobs import DECLARATION, SCHEMAS, element, escape
from gridengine.quantities import iso_date

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Reservation = dict[str, Any]


def reservation_list(reservations: "list[Reservation]") -> "Iterator[str]":
    """The whole document."""
    yield f'{DECLARATION}<qrstat xmlns:xsd="{SCHEMAS}/qrstat/qrstat.xsd">\n'
    for one in reservations:
        yield "   <ar_summary>\n"
        yield from _summary(one)
        yield "   </ar_summary>\n"
    yield "</qrstat>\n"


def _summary(one: "Reservation") -> "Iterator[str]":
    at = "      "
    yield element("id", one["id"], at)
    if one["name"]:
        yield element("name", one["name"], at)
    yield element("account", one["account"], at)
    yield element("owner", one["owner"], at)
    for name, moment in (("submission_time", "submit_time"), ("start_time", "start_time"), ("end_time", "end_time")):
        yield element(name, iso_date(one[moment]), at)
    yield element("duration", int(one["end_time"] - one["start_time"]), at)
    yield element("state", one["state"], at)
    if one["errors"]:
        yield element("message", "; ".join(one["errors"]), at)
    slots = sum(count for _, count in one["granted"])
    resources = [*one["hard"], ["slots", slots]]
    yield from _list("resource_list", "resource", [{"name": name, "type": value} for name, value in resources])
    grants = [{"queue_instance": instance, "slots": count} for instance, count in one["granted"]]
    yield from _list("granted_slots", "granted_slots", grants)
    if one["granted_pe"]:
        yield f"{at}<granted_parallel_environment>\n"
        yield element("parallel_environment", one["granted_pe"], f"{at}   ")
        yield element("slots", slots, f"{at}   ")
        yield f"{at}</granted_parallel_environment>\n"
    if one["checkpoint"]:
        yield element("checkpoint_name", one["checkpoint"], at)
    yield element("mail_options", one["mail_options"] or "n", at)
    addresses = [address.partition("@") for address in one["mail_list"]]
    yield from _list("mail_list", "mail", [{"user": user, "host": host or "NONE"} for user, _, host in addresses])
    yield from _list("acl_list", "acl", [{"user": user} for user in one["allowed"]])
    yield from _list("xacl_list", "acl", [{"user": user} for user in one["denied"]])


def _list(name: str, item: str, entries: "list[dict[str, Any]]") -> "Iterator[str]":
    """A list of elements that have attributes alone; nothing for an empty one."""
    if not entries:
        return
    yield f"      <{name}>\n"
    for entry in entries:
        attributes = "".join(f' {key}="{escape(value)}"' for key, value in entry.items())
        yield f"         <{item}{attributes}/>\n"
    yield f"      </{name}>\n"
