"""The contract of sge_web and its local clients: its files, and the requests at its socket.

Owns the names. `POST /v1/REQUEST` with a JSON object at the socket; the response is a JSON object, `{"error": TEXT}` for a
refused request. The kernel names the calling user. Called by `daemons.web` and `clients.admin`.
"""

#: below `common`, optional: address, port, names, certificate and key of the server
SETTINGS_FILE = "web"
#: below the run directory of a host on which the server runs
SOCKET = "web.sock"
#: below the directory `web` beside the qmaster's spool directory, as messages and sessions are
PID_FILE = "web.pid"

#: no fields -> {"link", "minutes"}: an address that logs the caller in once
LOGIN = "login"
#: {"days", "scope", "label"} -> {"token", "until"}: a password of the caller for programs, shown once; `until`: epoch s
TOKEN = "token"
#: no fields -> {"tokens": [{"label", "scope", "made", "used", "address", "until"}]} of the caller; times: epoch s
TOKENS = "tokens"
#: no fields -> {"alarms": [...]}: the active alarms, as GET /api/v1/alarms has them (docs/api.md)
ALARMS = "alarms"

#: permissions of a token, each including the one before: read; jobs and reservations; everything that its user may do
READ, SUBMIT, ALL = SCOPES = ("read", "submit", "all")
#: maximum length of the label of a token in characters
MAX_LABEL_LENGTH = 60

ADDRESS, PORT = "127.0.0.1", 8646
LINK_MINUTES = 5
#: maximum validity of a token
MAX_TOKEN_DAYS = 366
