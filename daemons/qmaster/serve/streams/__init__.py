"""Streams: subscriptions of commands, programs and mirrors to events, ends of tasks and sessions."""
