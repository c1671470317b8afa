"""`gridengine simulate`: a trace replayed under a configuration, and its measures."""
