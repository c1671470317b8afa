"""Decisions on configuration objects."""
