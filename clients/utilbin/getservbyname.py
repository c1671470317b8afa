"""getservbyname: the port of a TCP service, or the service of a port. Source: O."""

import _socket
import sys

from clients.utilbin.host_lookup import print_usage
from gridengine.terminal.standard_output import with_output_check

_USAGE = "usage:\n getservbyname [-help|-number] service | -check port_number\n\nget number of a tcp service"


@with_output_check
def main() -> int:
    """`getservbyname [-help|-number] SERVICE` or `getservbyname -check PORT`."""
    argv = sys.argv[1:]
    option = argv[0] if argv and argv[0] in ("-help", "-number", "-check") else ""
    rest = argv[1:] if option else argv[:1]
    if option == "-help" or not rest:
        return print_usage(_USAGE)
    try:
        if option == "-check":
            line = _socket.getservbyport(int(rest[0]), "tcp")
        else:
            port = _socket.getservbyname(rest[0], "tcp")
            line = str(port) if option else f"{rest[0]} {port}"
    except (OSError, ValueError, OverflowError):
        missing = f"port {rest[0]} not in use" if option == "-check" else f"service {rest[0]} not found"
        sys.stderr.write(f"{missing}\n")
        return 1
    sys.stdout.write(f"{line}\n")
    return 0
