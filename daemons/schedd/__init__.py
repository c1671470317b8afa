"""The scheduler: in which order jobs run, and where. The scheduler changes no state: it sends orders to the qmaster."""
