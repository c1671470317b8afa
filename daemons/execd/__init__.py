"""sge_execd: the services of one execution host for the cell."""
