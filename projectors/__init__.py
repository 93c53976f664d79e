"""Event log → views. A module a view; none knows another."""
