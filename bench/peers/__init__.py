"""Compares this system with the real Grid Engine and with Slurm, each on three hosts of the test bed in turn."""
