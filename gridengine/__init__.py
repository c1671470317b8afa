"""The shared core: object model, syntax, configuration, state, placement and contracts. Pure: no I/O, no clock."""

__version__ = "0.2.0"
