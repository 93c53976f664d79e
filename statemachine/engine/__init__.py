"""Runs decide over a log: one owner per log, its timers, and the loop that feeds it."""
