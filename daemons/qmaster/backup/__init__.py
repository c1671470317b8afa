"""Backups of a cell: made while it runs, daily without a command, verified on any host, restored while it does not run."""
