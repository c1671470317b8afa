"""GPUs as jobs ask for them: the name of the consumable, and how a job is told which are its own.

Called by the admin program, which has hosts count them, the qmaster, which says how many a task has, and `sge_execd`, which
chooses them. Source: adr/0168.
"""

GPUS = "gpu"
VARIABLES = ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
"""What the programs of NVIDIA and of AMD heed: numbers of devices, from 0 on, divided by commas."""
