"""Scale by simulation: the qmaster's and the scheduler's own code, with simulated exec hosts, many to a process."""
