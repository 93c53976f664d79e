"""Verbs that read the log, or copy and repair what is in it."""
