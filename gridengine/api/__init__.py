"""The road from any program to a cell: what the q* commands use of it, and other people's programs will."""
