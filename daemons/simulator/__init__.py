"""Policies tried before they are in force: a cell in memory, with the real decisions and the real scheduler, on virtual time."""
