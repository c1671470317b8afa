"""The programs that people type: one thin module a q* command, and the `gridengine` program in `clients.admin`.

Owns how requests and answers look. Must not decide anything: every command parses, asks the qmaster and renders.
Nothing is imported here, since each command pays for it at its start.
"""
