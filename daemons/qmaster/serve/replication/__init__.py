"""Replication: the replicas of the spool on other candidates, and the link to the participant of this host."""
