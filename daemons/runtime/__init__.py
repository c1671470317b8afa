"""What the daemons share: cell files, keys, the `messages` log, being a daemon, Ray nodes. Imports no daemon."""
