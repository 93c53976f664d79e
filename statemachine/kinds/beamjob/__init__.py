"""BeamJob: a Flink cluster, and a Job of batch/v1 that runs an Apache Beam program on it and decides the result."""

from statemachine.kinds.beamjob.children import ENV, ENV_SAYS, children
from statemachine.kinds.beamjob.life import LIFE, keeps
from statemachine.kinds.beamjob.roles import LAYOUT, NAMES, plan, pod_name
from statemachine.kinds.beamjob.rules import RULES
from statemachine.kinds.beamjob.spec import BeamSpec
from statemachine.kinds.beamjob.status import SERVED, status
from statemachine.kinds.beamjob.submit import INQUIRY, OWNED
from statemachine.kinds.t9k.family import T9kKind
from statemachine.kinds.t9k.objects import CONFIG_MAP, POD_GROUP
from statemachine.schema.form import SpecForm
from statemachine.schema.manual import Manual


def _form() -> SpecForm:
    from statemachine.kinds.beamjob.form import FORM  # the words of forms, which most programs never show

    return FORM


KIND = T9kKind(
    names=NAMES,
    model=BeamSpec,
    rules=RULES,
    layout=LAYOUT,
    plan=plan,
    objects=children,
    pod_name=pod_name,
    served=SERVED,
    lifecycle=LIFE,
    describe=status,
    keep=keeps,
    owns=(CONFIG_MAP, POD_GROUP, OWNED),
    pause=lambda _: {},
    look=_form,
    manual=Manual(("value",), ENV, ENV_SAYS),
    inquiries=(INQUIRY,),
    needs_cluster="a batch Job and Flink's pods want a cluster: run it on one, with `jobledger controller`",
)
