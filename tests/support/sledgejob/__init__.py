"""A made-up kind that is unlike the others: no primary, a child of its own, a budget and labels of its own, no form.

A test installs the folder in a checkout, as `statemachine/kinds/sledgejob/`, and looks.
"""

from statemachine.kinds.common.crd import Served
from statemachine.kinds.common.kind import ModelKind
from statemachine.schema.manual import Manual
from tests.support.sledgejob.children import ENV, OWNS, children
from tests.support.sledgejob.life import LIFE, budget, keeps
from tests.support.sledgejob.roles import LAYOUT, NAMES, PLACE, RUN, SLEDGE, plan, pod_name
from tests.support.sledgejob.rules import RULES
from tests.support.sledgejob.settings import SledgeJobSettings
from tests.support.sledgejob.spec import SledgeSpec
from tests.support.sledgejob.status import SCHEMA, counted, recorded, stated_phase, status

KIND = ModelKind(
    names=NAMES,
    model=SledgeSpec,
    rules=RULES,
    layout=LAYOUT,
    plan=plan,
    objects=children,
    pod_name=pod_name,
    served=Served("Dogs that pull a sledge.", SCHEMA),
    child_label=RUN,
    name_label=SLEDGE,
    replica_labels=(PLACE,),
    primary_label=("north.example/first", "none"),
    lifecycle=LIFE,
    describe=status,
    read_status=recorded,
    keep=keeps,
    retryable=lambda _: False,
    pause=lambda on: {"rest": on},
    owns=OWNS,
    opt_in=SledgeJobSettings,
    allowance=budget,
    manual=Manual(("value",), ENV),
    phase_stated=stated_phase,
    count=counted,
)
