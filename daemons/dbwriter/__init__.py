"""sge_dbwriter: writes the records of the reporting file into the ARCo database, and answers queries."""
