"""The runner of a task list: started in a job by `qtasks run`, it serves the list with the job's slots (adr/0260).

`runner` is the loop; `task_queue` decides which command is next, `local_host` and `remote_host` run commands, `record_files` has
the files of the list. Standard library alone: a runner lives as long as its job, beside the commands.
"""
