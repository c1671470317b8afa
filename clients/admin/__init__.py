"""The admin program `gridengine`: makes a cell, starts and stops its daemons, shows its state, and finds faults.

Owns the files of `$SGE_ROOT/$SGE_CELL/common` when a cell is made. Must not change a running cell other than through
the q* commands and signals to the daemons of this host, and must not import a daemon.
"""
