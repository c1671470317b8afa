"""Where things are in a drawing: plain data in, positions out. Templates draw them."""
