"""Consequences of a state by rule or by the clock: events without a request."""
