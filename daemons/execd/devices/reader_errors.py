"""Faults of the readers of devices."""

from gridengine.errors import UnavailableError


class DeviceReadError(UnavailableError):
    """A driver is there, and does not answer as it should. The text is a sentence."""


class InterfaceMissingError(UnavailableError):
    """This host has no such interface: its library, program or driver is missing."""
