"""Contracts between programs: messages, files and names that two programs, or two releases, must agree on."""
