"""Public events → OpenLineage RunEvents: what lineage systems such as Marquez get of jobs. Pure.

A job is a run: its uid is the run's id. `runs` says which RunEvent an event of the log is, `facets` what they carry,
`parents` which run a job belongs to. Source: OpenLineage 2-0-2, docs/lineage.md, ADR 0041.
"""
