"""Alarms: conditions of the cell that need a person, with their begin, end, acknowledgement and notices. Source: adr/0280."""
