"""One grammar a file: how Grid Engine's texts are read and printed. No file, socket or clock is touched here."""
