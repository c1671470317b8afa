"""The shared core: object model, syntax, configuration, state, placement and contracts. Pure: no I/O, no clock."""
