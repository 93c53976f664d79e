"""Builders, fakes and the words that scenarios are written in."""
