"""MPIJob: a launcher runs mpirun, which starts processes on workers that wait for it with sshd."""

from functools import partial

from statemachine.kinds.common.kind import ModelKind
from statemachine.kinds.mpijob.children import ENV, children
from statemachine.kinds.mpijob.here import MPIRUN
from statemachine.kinds.mpijob.older import modern
from statemachine.kinds.mpijob.roles import LAYOUT, NAMES, plan
from statemachine.kinds.mpijob.rules import RULES
from statemachine.kinds.mpijob.spec import MpiSpec
from statemachine.kinds.t9k.kind import debugging, t9k_placement, t9k_served
from statemachine.kinds.t9k.launcher import launcher_pod_name
from statemachine.kinds.t9k.life import FIXED_WHEN_FINISHED, LIFE, is_retryable, keeps
from statemachine.kinds.t9k.objects import (
    CONFIG_MAP,
    MASTER_LABEL,
    OWNER_KIND,
    OWNER_NAME,
    POD_GROUP,
    REPLICA_LABELS,
)
from statemachine.kinds.t9k.status import recorded, status
from statemachine.schema.form import SpecForm
from statemachine.schema.manual import Manual


def _form() -> SpecForm:
    from statemachine.kinds.mpijob.form import (
        FORM,  # the words of forms, which most programs never show
    )

    return FORM


KIND = ModelKind(
    names=NAMES,
    model=MpiSpec,
    rules=RULES,
    layout=LAYOUT,
    plan=plan,
    objects=children,
    pod_name=launcher_pod_name,
    served=t9k_served(
        "An MPI program. The launcher runs mpirun, which starts it on the workers, and its end is the job's "
        "end. Succeeded means ended: the launcher's log tells how the program went.",
        restarts=False,
    ),
    child_label=OWNER_KIND,
    name_label=OWNER_NAME,
    replica_labels=REPLICA_LABELS,
    primary_label=MASTER_LABEL,
    lifecycle=LIFE,
    describe=partial(status, restarts=False),
    read_status=recorded,
    keep=keeps,
    retryable=is_retryable,
    owns=(CONFIG_MAP, POD_GROUP),
    fixed=FIXED_WHEN_FINISHED,
    modern=modern,
    placement=t9k_placement,
    debugging=debugging,
    look=_form,
    programs=(MPIRUN,),
    manual=Manual(("always",), ENV),
)
