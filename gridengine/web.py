"""What sge_web and those who ask it have agreed on: its files, and the requests at its socket.

Owns the names. `POST /v1/REQUEST` with a JSON object at the socket; the answer is a JSON object, `{"error": TEXT}` of a request
that cannot be granted. Who asks is what the kernel says. Called by `daemons.web` and `clients.admin`.
"""

#: below `common`, and not needed: address, port, names, certificate and key of the server
SETTINGS_FILE = "web"
#: below the run directory of a host on which the server runs
SOCKET = "web.sock"
#: below the directory `web` beside the qmaster's spool directory: pid file, messages, and who is logged in
PID_FILE = "web.pid"

#: no fields -> {"link", "minutes"}: an address that logs the caller in, once
LOGIN = "login"
#: {"days", "scope", "label"} -> {"token", "until"}: a password of the caller for programs, shown once; `until`: epoch s
TOKEN = "token"
#: no fields -> {"tokens": [{"label", "scope", "made", "used", "address", "until"}]} of the caller; times: epoch s
TOKENS = "tokens"

#: what a token may be used for, each with what is before it: to read; jobs and reservations; everything that its user may
READ, SUBMIT, ALL = SCOPES = ("read", "submit", "all")
#: characters of the label of a token
LONGEST_LABEL = 60

ADDRESS, PORT = "127.0.0.1", 8646
LINK_MINUTES = 5
#: how long a token may be good for
MOST_DAYS = 366
