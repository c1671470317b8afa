"""Commands with Slurm's names: each translates what it is asked into what the q* commands ask, and prints as Slurm does.

They are installed beside the others, in slurm/bin, and nothing of the cell depends on them. Source: docs/slurm.md; adr/0160.
"""
