"""The static load values, which do not change with the load.

Used by host groups' rules, which test them, by the state, which keeps them while a host is down, and by placement.
Source: load_parameters(5); QS-3.
"""

#: stay known while their host is down; an empty cluster has no other load values (`-w v`, `qselect -l`)
STATIC_LOAD = frozenset("arch num_proc m_core m_socket m_thread m_topology mem_total swap_total virtual_total".split())
