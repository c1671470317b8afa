"""sge_execd: what one execution host does for the cell."""
