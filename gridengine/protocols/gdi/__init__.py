"""The grid database interface: requests that clients send to the qmaster, and the shape of answers."""
