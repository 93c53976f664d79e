"""The event log: its port, the entries it holds, and its adapters."""
