"""Trends: samples of the cell over time, kept in a file of the web server, for plots of pages and for programs."""
