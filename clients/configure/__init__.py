"""The parts of qconf: showing objects, changing them by file or editor, changing attributes."""
