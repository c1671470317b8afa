"""Hosts: instructions to exec hosts and their reports in order; joining, keys and releases of hosts."""
