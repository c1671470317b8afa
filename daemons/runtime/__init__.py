"""Parts that all daemons share: cell files, keys, the `messages` log, the life of a daemon, Ray nodes. Imports no daemon."""
