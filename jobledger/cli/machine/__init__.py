"""Verbs that run jobs on this machine."""
