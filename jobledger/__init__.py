"""Composition root: settings, wiring, command line, HTTP API and console."""
