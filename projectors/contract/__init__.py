"""The public event contract: entries of the log → events that leave the product, and what is promised of them.

`project` makes the public events of an entry, pure: no clock, no chance, no I/O, so equal logs and equal settings
give equal bytes everywhere. `stream` goes along records of a log, `envelope` writes events as CloudEvents, `model`
has the data of events, and `catalogue` the list of their types and what stays private. Source: docs/events.md,
ADR 0035.
"""
