"""Verbs that ask a running server."""
