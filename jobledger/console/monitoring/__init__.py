"""What the pods of a job use, asked of a server that speaks Prometheus' HTTP API, and drawn.

`queries` says what is asked (pure), `source` asks, `panels` makes lines of the answers, `chart` draws them (pure).
"""
