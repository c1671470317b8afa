"""Used and reserved resources: accounting records, their codes of failure, and the use of reservations."""
