"""Requests: the sockets of the GDI, the table of endpoints, and the handlers that need more than a decision."""
