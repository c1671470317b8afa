"""The option table of all q* commands, and its parser.

Owns names, arguments, meaning and help text of every option: `option` has the shape and the parser, the other
modules hold the rows, one module a family of commands. Usage texts, completion data and documentation are generated from
the rows. Pure: no files, no clock, no environment; clients pass them in. Must stay light: every command loads it.
"""
