"""Placement: resources of queue instances, requests of jobs, reasons of refusals, and the allocation of slots.

Pure functions over the state. Used by the scheduler for every job and by the qmaster for `-w`, `qstat -F`, `-j` and
`-explain`, so there is one answer to "may this job run there".
"""
