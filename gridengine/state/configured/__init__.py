"""The configuration as those read it who place jobs and decide: typed objects, each made once of the texts of the gate.

Owns their shapes and how texts become numbers, seconds, flags and tuples. Predefined values are those of the models in
`gridengine.config` and stand nowhere else. The texts were validated at the gate; reading them cannot fail.
"""
