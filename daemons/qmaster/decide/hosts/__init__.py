"""Decisions on reports of exec hosts."""
