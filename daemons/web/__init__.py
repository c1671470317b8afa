"""The web server: the pages and the REST API of a cell, based on a mirror of its state. Source: adr/0133."""
