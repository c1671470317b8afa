"""The web server: the pages and the REST API of a cell, over a mirror of its state. Source: adr/0133."""
