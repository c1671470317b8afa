"""gethostname: this host, and its unique name in the cell. Source: O."""

import _socket
import sys

from clients.utilbin.host_lookup import FORMS, by_name, print_usage, show
from gridengine.terminal.standard_output import with_output_check


@with_output_check
def main() -> int:
    """`gethostname [-help|-name|-aname|-all]`."""
    argv = sys.argv[1:]
    if len(argv) > 1 or (argv and argv[0] not in FORMS):
        return print_usage("usage:\n gethostname [-help|-name|-aname|-all]\n\nget resolved hostname of this host")
    form = argv[0] if argv else ""
    return show(form, lambda: by_name(_socket.gethostname()), "local host", "host name")
