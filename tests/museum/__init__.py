"""Mistakes that other schedulers and controllers of jobs have made, and tests that would catch them here."""
