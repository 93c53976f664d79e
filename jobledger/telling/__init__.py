"""A job's life in words, from the log alone: what command line, HTTP API and console tell in the same way."""
