"""Layouts of drawings: plain data in, positions out. Templates draw them."""
