"""The candidates for master: the participant, its term, the replica of the spool, the takeover."""
