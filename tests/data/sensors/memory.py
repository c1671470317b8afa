#!/usr/bin/env python3
# memory that programs can still get, which is more than what is free
import socket
import sys

HOST = socket.gethostname()


def available():
    with open("/proc/meminfo") as meminfo:
        for line in meminfo:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1])
    return 0


while True:
    line = sys.stdin.readline()
    if not line or line.strip() == "quit":
        sys.exit(0)
    sys.stdout.write("begin\n")
    sys.stdout.write(f"{HOST}:mem_available:{available()}K\n")
    sys.stdout.write("end\n")
    sys.stdout.flush()
