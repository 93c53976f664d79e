"""What operators see: Prometheus metrics of a controller, traces of its work, and its log (`log_lines`).

`catalog` names every metric. `tally` counts what happened to jobs, from the log alone; `live` counts what only this
process knows; `collect` turns both, and what lives in the controller at the moment, into families; `page` is the
HTTP route. `tracing` makes spans where that is asked for, else nothing. `monitoring` and `dashboard` make the
documentation, alert rules and the Grafana dashboard out of the catalog.
"""
