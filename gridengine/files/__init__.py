"""Files of a cell and of a release: paths, formats, locks, durable writes and Unix sockets, and programs that users name."""
