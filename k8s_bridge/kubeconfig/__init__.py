"""Which API server, who we are there, and how it is trusted: as kubectl reads it.

The controller and `kubectl jobledger` both read it here. A command that people type has to answer at once, so nothing
big is imported: no client library, nothing of jobledger but its errors.
"""
