"""`gridengine import-sge`: import of the configuration and accounting file of an existing Grid Engine."""
