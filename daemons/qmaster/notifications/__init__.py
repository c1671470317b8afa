"""Notifications about past events: accounting and log records, mail messages, notices to event clients, job histories."""
