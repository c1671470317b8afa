"""Kept spools: the spools of earlier releases in `tests/data`, and the script of a cell that makes a spool."""
