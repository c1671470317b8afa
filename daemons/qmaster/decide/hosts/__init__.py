"""Decisions on what exec hosts report."""
