"""The API server of a kubeconfig, our credentials for it, and how it is trusted: as kubectl reads them.

The controller and `kubectl jobledger` both use this package. A command has to respond at once, so it imports nothing
big: no client library, and of jobledger only its errors.
"""
