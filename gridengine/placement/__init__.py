"""Placement: what instances offer, what jobs ask, why they do not fit together, and how slots are spread.

Pure functions over the state. Used by the scheduler for every job and by the qmaster for `-w`, `qstat -F`, `-j` and
`-explain`, so that there is one answer to "may this job run there".
"""
