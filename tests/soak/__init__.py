"""What takes hours: fresh seeds, everything killed at full size, memory that must not grow.

`make soak HOURS=8` (or `PARTS="simulation fire"`) takes one part after the other, all of them at least once, until
the time is over. What a part says goes to `.ci/out/soak/`, and so does what was done: one that was stopped goes on. A
table at the end says what was discovered, and how to repeat it.
"""
