"""What talks: Ray, sockets, files and processes around the master, on one event loop."""
