"""What is particular to the lives of a kind's jobs, for the laws: a module a kind, called by the kind's singular.

`specs()` are specs with nothing wrong in them, `EDITS` what users change in them later (merge patches), and
`settings(spec)` is what is configured. Each may be missing, and so may the module: then jobs are those of `examples`,
and nobody edits them.
"""
