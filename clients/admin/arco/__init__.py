"""`gridengine arco`: questions to the database of what was used, as tables, files and plots."""
