"""What sge_dbwriter and those who ask it have agreed on: its files, and the requests at its socket.

Owns the names. `POST /v1/REQUEST` with a JSON object at the socket; the answer is a JSON object, `{"error": TEXT}` of a request
that cannot be granted. Times are ISO texts with their zone, intervals seconds. Called by `daemons.dbwriter` and `clients.admin`.
"""

#: below `common`: the settings, and a directory of a site's own queries
SETTINGS_FILE = "arco"
QUERY_DIRECTORY = "arco_queries"
#: below the run directory of the host that the writer runs on
SOCKET = "dbwriter.sock"
#: below the directory `dbwriter` beside the qmaster's spool directory
PID_FILE = "dbwriter.pid"

#: no fields -> {"queries": [{"name", "category", "description", "type", "view", "fields": [{"name", "type", "label", "default"}],
#: "plot": {…} or null, "pivot": {…} or null}], "faults": what is wrong with files}
QUERIES = "queries"
#: {"query", "values": {FIELD: TEXT}, "limit", "bytes", "cell", "patience"} -> {"columns", "types", "rows", "more", "too_large",
#: "pivot", "plot"}
RUN = "run"
#: {"sql", "limit", "bytes", "cell", "patience"} -> {"columns", "types", "rows", "more", "too_large"}
SQL = "sql"
#: {"path"} -> {}: begins to import an accounting file
IMPORT = "import"
#: no fields -> {"database", "schema", "lines", "behind", "fault", "imports": [{"path", "bytes", "size", "records", "known",
#: "rejected": [[LINE, REASON]], "rejections", "state"}]}
STATUS = "status"

#: header of a request: the number of the user on whose behalf it is; from root and the writer's own user alone
ON_BEHALF = "X-GE-Uid"

#: rows of an answer, bytes of its rows as JSON, and seconds that a question may take. `more`: rows were left off; `too_large`:
#: since all of them have more bytes. A question may ask for fewer (`limit`, `bytes`), and for texts cut to `cell` characters
ROWS = 100_000
ANSWER_BYTES = 2**24
PATIENCE_S = 60.0
