"""Task lists: a job whose slots serve a queue of commands, a line each (`qsub -tasks`, adr/0260).

Owns the grammar of the lines, the script that carries a list, and the states of its commands as their records tell. Pure.
Called by qsub, the Python interface, the runner of a list (`clients/task_runner`) and qtasks.
"""
