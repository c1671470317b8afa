"""The configuration as placement and decisions read it: typed objects, each parsed once from the texts of the gate.

Owns their shapes and how texts become numbers, seconds, flags and tuples. Predefined values are those of the models in
`gridengine.config` and stand nowhere else. The texts were validated at the gate; reading them cannot fail.
"""
