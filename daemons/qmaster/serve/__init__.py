"""Connections of the master to the outside: Ray, sockets, files and processes, on one event loop."""
