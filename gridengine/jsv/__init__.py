"""Job submission verifiers: the job as parameters, and the conversation with a verifier, both ways and without I/O.

Owns the protocol. Pure and light: clients (-jsv) and the qmaster (jsv_url) run the processes. Source: sge_jsv(1), JV-1 … JV-8.
"""
