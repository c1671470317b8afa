"""The configuration as placement and decisions read it: typed objects, each parsed once from the texts of the gate.

Owns their shapes and the parsing of texts into numbers, seconds, flags and tuples. The models in `gridengine.config` are the only
source of predefined values. The texts were validated at the gate; reading them cannot fail.
"""
