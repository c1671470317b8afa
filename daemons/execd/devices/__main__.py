"""`python -m daemons.execd.devices`: prints the devices of this host as a line of JSON (`gridengine.protocols.devices`).

With `--every SECONDS` it prints a line at once and then each time, with the drivers open in between, until its output is closed.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from daemons.execd.devices.devices import open_readers, read_all
from daemons.execd.devices.reader_errors import DeviceReadError
from gridengine.protocols.devices import DeviceReading, encode


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m daemons.execd.devices", description=__doc__)
    options.add_argument("--every", type=float, default=0.0, metavar="SECONDS")
    options.add_argument("--root", type=Path, default=Path("/"), help="where /dev, /proc and /sys lie")
    chosen = options.parse_args()
    while True:
        try:
            with open_readers(chosen.root) as readers:
                while _print(reading := read_all(readers)) and chosen.every and not reading.fault:
                    time.sleep(chosen.every)
        except DeviceReadError as error:
            _print(DeviceReading(fault=str(error)))
        if not chosen.every:
            return
        time.sleep(chosen.every)  # and open the drivers anew, which may have been exchanged


def _print(reading: DeviceReading) -> bool:
    sys.stdout.buffer.write(encode(reading) + b"\n")
    sys.stdout.buffer.flush()
    return True


if __name__ == "__main__":
    try:
        main()
    except (BrokenPipeError, KeyboardInterrupt):
        sys.stderr.close()  # the reader of its lines has gone
