"""`gridengine arco`: queries to the accounting database, with answers as tables, files and plots."""
