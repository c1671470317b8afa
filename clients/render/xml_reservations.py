"""qrstat -xml: reservations in the schema of the advance reservation specification (AR-113, AR-114).

Owns element names and their order. Called by qrstat. Deviation: 8.1.9 itself prints other names than its specification,
including a name with blanks, which no parser accepts.
"""

from clients.render.xml_jobs import DECLARATION, SCHEMAS, element, escape
from gridengine.values.quantities import iso_date

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Reservation = dict[str, Any]


def reservation_list(reservations: "list[Reservation]") -> "Iterator[str]":
    """The whole document."""
    yield f'{DECLARATION}<qrstat xmlns:xsd="{SCHEMAS}/qrstat/qrstat.xsd">\n'
    for reservation in reservations:
        yield "   <ar_summary>\n"
        yield from _summary(reservation)
        yield "   </ar_summary>\n"
    yield "</qrstat>\n"


def _summary(reservation: "Reservation") -> "Iterator[str]":
    at = "      "
    yield element("id", reservation["id"], at)
    if reservation["name"]:
        yield element("name", reservation["name"], at)
    yield element("account", reservation["account"], at)
    yield element("owner", reservation["owner"], at)
    for name, moment in (("submission_time", "submit_time"), ("start_time", "start_time"), ("end_time", "end_time")):
        yield element(name, iso_date(reservation[moment]), at)
    yield element("duration", int(reservation["end_time"] - reservation["start_time"]), at)
    yield element("state", reservation["state"], at)
    if reservation["errors"]:
        yield element("message", "; ".join(reservation["errors"]), at)
    slots = sum(count for _, count in reservation["granted"])
    resources = [*reservation["hard"], ["slots", slots]]
    yield from _list("resource_list", "resource", [{"name": name, "type": value} for name, value in resources])
    grants = [{"queue_instance": instance, "slots": count} for instance, count in reservation["granted"]]
    yield from _list("granted_slots", "granted_slots", grants)
    if reservation["granted_pe"]:
        yield f"{at}<granted_parallel_environment>\n"
        yield element("parallel_environment", reservation["granted_pe"], f"{at}   ")
        yield element("slots", slots, f"{at}   ")
        yield f"{at}</granted_parallel_environment>\n"
    if reservation["checkpoint"]:
        yield element("checkpoint_name", reservation["checkpoint"], at)
    yield element("mail_options", reservation["mail_options"] or "n", at)
    addresses = [address.partition("@") for address in reservation["mail_list"]]
    yield from _list("mail_list", "mail", [{"user": user, "host": host or "NONE"} for user, _, host in addresses])
    yield from _list("acl_list", "acl", [{"user": user} for user in reservation["allowed"]])
    yield from _list("xacl_list", "acl", [{"user": user} for user in reservation["denied"]])


def _list(name: str, item: str, entries: "list[dict[str, Any]]") -> "Iterator[str]":
    """A list of elements that have only attributes; no output for an empty list."""
    if not entries:
        return
    yield f"      <{name}>\n"
    for entry in entries:
        attributes = "".join(f' {key}="{escape(value)}"' for key, value in entry.items())
        yield f"         <{item}{attributes}/>\n"
    yield f"      </{name}>\n"
