"""The pure core of jobledger (observations, events, state, decide, evolve, kinds) and the log around it."""
