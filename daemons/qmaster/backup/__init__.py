"""Backups of a cell: made while it runs, verified anywhere, restored where it does not run, and made daily by themselves."""
