"""The one place that puts the parts together: a log, a cluster, and the control loop between them.

`Controller` is the loop (bridge → engine → projectors), or some roles of it, over whatever log and cluster it is
given; the embedded mode, the controller on a cluster, the simulation and the benchmarks run the same one. Each role
is a class of its own (`bridge_role`, `engine_role`, `projector_role`), built with what it needs; the front is
`jobledger.service.app.App` over a controller.
"""

from jobledger.wiring.controller import Controller
from jobledger.wiring.embedded import embedded
from jobledger.wiring.running import running

__all__ = ["Controller", "embedded", "running"]
