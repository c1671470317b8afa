"""Decisions on advance reservations."""
