"""Several hosts of which one is the master: the participant, its term, the replica of the spool, the takeover."""
