"""GPUs as a resource of jobs: the name of the consumable, and the variables that name a job's devices.

Called by the admin program, which has hosts count them, the qmaster, which sends the number of a task's GPUs, and `sge_execd`,
which chooses them. Source: adr/0168.
"""

GPUS = "gpu"
VARIABLES = ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
"""Variables that programs for NVIDIA and AMD devices read: numbers of devices, from 0 on, divided by commas."""
