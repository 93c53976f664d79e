"""Histories that were damaged on purpose, and the verdict that each must get."""
