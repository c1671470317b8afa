"""sge_dbwriter: takes the records of the reporting file into the ARCo database, and answers questions to it."""
