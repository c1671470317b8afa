"""gethostbyaddr: look up a host by its address, and its unique name in the cell. Source: O."""

from clients.utilbin.host_lookup import about_argument, by_address
from gridengine.terminal.standard_output import with_output_check


@with_output_check
def main() -> int:
    """`gethostbyaddr [-help|-name|-aname|-all] ADDRESS`."""
    return about_argument("gethostbyaddr", "x.x.x.x", "ip", "ip address", by_address)
