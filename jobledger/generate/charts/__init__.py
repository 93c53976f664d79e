"""What the Grafana dashboard shows, as data: rows of charts, those of jobs before those of the controller."""

from collections.abc import Sequence
from typing import Final

from jobledger.generate.charts import of_controller, of_jobs
from jobledger.generate.charts.chart import Chart

ROWS: Final[dict[str, Sequence[Chart]]] = {**of_jobs.ROWS, **of_controller.ROWS}
"""Charts by the title of their row, in order."""
