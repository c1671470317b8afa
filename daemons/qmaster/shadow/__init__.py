"""Several hosts of which one is the master: the seat, its term, the copy of the spool, the taking over."""
