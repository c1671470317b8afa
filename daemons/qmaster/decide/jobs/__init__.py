"""Decisions on jobs."""
