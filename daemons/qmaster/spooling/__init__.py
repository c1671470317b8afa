"""Files of the qmaster: the spool and the text files of `common/`."""
