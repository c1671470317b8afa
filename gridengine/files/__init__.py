"""Files of a cell and of a release: their paths, formats and locks, and programs that users name."""
