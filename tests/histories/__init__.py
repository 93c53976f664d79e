"""Recorded lives of jobs, and what they fold to."""
