"""The scheduler: in which order jobs run, and where. It changes no state: it sends orders to the qmaster."""
