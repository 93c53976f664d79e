"""What is particular to a kind, for the laws: a module a kind, called by the kind's singular.

| name | what | where it is missing |
|---|---|---|
| `specs()` | specs with nothing wrong in them, of jobs that have a life in tests | the one in `examples/` |
| `written()` | the same in every spelling, whether anybody would live by it or not | `specs()` |
| `EDITS` | what users change later, as merge patches | nothing |
| `settings(spec)` | what is configured for the job's kind | nothing |

Each may be missing, and so may the module.
"""
