"""What lies on disk: the spool and the text files of `common/`."""
