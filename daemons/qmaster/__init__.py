"""The qmaster: owns the state of the cluster, decides, records, answers and instructs."""
