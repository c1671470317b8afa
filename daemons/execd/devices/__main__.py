"""`python -m daemons.execd.devices`: prints the devices of this host as a line of JSON (`gridengine.protocols.devices`).

With `--follow` it prints a line for each line of its input, with the drivers open in between, until the input ends.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from daemons.execd.devices.devices import open_readers, read_all
from daemons.execd.devices.reader_errors import DeviceReadError
from gridengine.protocols.devices import DeviceReading, encode


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m daemons.execd.devices", description=__doc__)
    options.add_argument("--follow", action="store_true")
    options.add_argument("--root", type=Path, default=Path("/"), help="where /dev, /proc and /sys lie")
    chosen = options.parse_args()
    goes_on = not chosen.follow or _is_asked()
    while goes_on:
        try:
            with open_readers(chosen.root) as readers:
                while goes_on:
                    _print(reading := read_all(readers))
                    goes_on = chosen.follow and _is_asked()
                    if reading.fault:
                        break  # and open the drivers again, which may have been exchanged
        except DeviceReadError as error:
            _print(DeviceReading(fault=str(error)))
            goes_on = chosen.follow and _is_asked()


def _is_asked() -> bool:
    return bool(sys.stdin.readline())


def _print(reading: DeviceReading) -> None:
    sys.stdout.buffer.write(encode(reading) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    try:
        main()
    except (BrokenPipeError, KeyboardInterrupt):
        sys.stderr.close()  # the reader of its lines has gone
