"""The contract of sge_dbwriter and its clients: its files, and the requests at its socket.

Owns the names. `POST /v1/REQUEST` with a JSON object at the socket; the response is a JSON object, `{"error": TEXT}` for a
refused request. Times are ISO texts with their zone, intervals seconds. Called by `daemons.dbwriter` and `clients.admin`.
"""

#: below `common`: the settings, and a directory of the site's queries
SETTINGS_FILE = "arco"
QUERY_DIRECTORY = "arco_queries"
#: below the run directory of the writer's host
SOCKET = "dbwriter.sock"
#: below the directory `dbwriter` beside the qmaster's spool directory
PID_FILE = "dbwriter.pid"

#: no fields -> {"queries": [{"name", "category", "description", "type", "view", "fields": [{"name", "type", "label", "default"}],
#: "plot": {…} or null, "pivot": {…} or null}], "faults": errors of files}
QUERIES = "queries"
#: {"query", "values": {FIELD: TEXT}, "limit", "bytes", "cell", "patience"} -> {"columns", "types", "rows", "more", "too_large",
#: "pivot", "plot"}
RUN = "run"
#: {"sql", "limit", "bytes", "cell", "patience"} -> {"columns", "types", "rows", "more", "too_large"}
SQL = "sql"
#: {"path"} -> {}: starts the import of an accounting file
IMPORT = "import"
#: no fields -> {"database", "schema", "lines", "behind", "fault", "imports": [{"path", "bytes", "size", "records", "known",
#: "rejected": [[LINE, REASON]], "rejections", "state"}]}
STATUS = "status"

#: header of a request: the uid of the user on whose behalf it is made; accepted from root and the writer's own user only
ON_BEHALF = "X-GE-Uid"

#: limits of a response in rows and in bytes of its rows as JSON, and of a query in seconds. `more`: rows were left off;
#: `too_large`: because of the limit in bytes. A query may set lower limits (`limit`, `bytes`), and cut texts to `cell` characters
ROWS = 100_000
ANSWER_BYTES = 2**24
PATIENCE_S = 60.0
