"""What a cell has done: the spools that earlier releases wrote, kept in `tests/data`, and the play that makes one."""
