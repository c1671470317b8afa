"""The scheduler: who goes first, and where. It changes nothing: it sends orders to the qmaster."""
