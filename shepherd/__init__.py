"""Running one task on its host: the shepherd, and the launcher that forks shepherds (docs/architecture.md section 5).

`plan` turns a task's configuration into a list of steps (pure); `run` carries them out; `launcher` forks one shepherd
per task. Standard library only. Nothing here knows queues, priorities or the qmaster: the execd writes a `config`,
requests a start from the launcher, and reads the `exit` file.
"""
