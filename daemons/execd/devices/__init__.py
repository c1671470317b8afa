"""Extension: readers of the devices of a host, by vendor (adr/0345). `sge_execd` runs them in a process of its own."""
