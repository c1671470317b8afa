"""gethostbyname: look up a host by its name, and its unique name in the cell. Source: O."""

from clients.utilbin.host_lookup import about_argument, by_name
from gridengine.terminal.standard_output import with_output_check


@with_output_check
def main() -> int:
    """`gethostbyname [-help|-name|-aname|-all] NAME`."""
    return about_argument("gethostbyname", " <name>", "host", "host name", by_name)
