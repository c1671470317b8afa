"""Commands with Slurm's names: each command translates its options to requests of the q* commands, and prints in Slurm's form.

The commands are installed separately, in slurm/bin, and no part of a cell depends on them. Source: docs/slurm.md; adr/0160.
"""
