"""Verbs of the controller of a Kubernetes cluster."""
