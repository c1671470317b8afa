"""Limits from which the condition of a cell is reported, by `gridengine doctor` and by the alarms of the web console.

Owns the values, so that both agree. Source: docs/web.md, Alarms.
"""

#: a certificate that ends within this time, in seconds
CERTIFICATE_LEFT_S = 30 * 86_400.0
#: a newest daily backup that is older has missed one, in seconds
BACKUP_AGE_S = 2 * 86_400.0
#: free bytes of the qmaster's spool below which it will soon refuse changes
LEAST_FREE_BYTES = 100 * 1024 * 1024
