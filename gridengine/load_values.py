"""Which load values do not change with load.

Used by host groups' rules, which test them, by the state, which keeps them while a host is down, and by placement.
Source: load_parameters(5); QS-3.
"""

#: they stay known when their host is down, and are the only ones that an empty cluster has (`-w v`, `qselect -l`)
STATIC_LOAD = frozenset("arch num_proc m_core m_socket m_thread m_topology mem_total swap_total virtual_total".split())
