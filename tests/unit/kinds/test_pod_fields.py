"""The table of the fields of a pod template is that of the official Python client."""

from statemachine.kinds.common import pod_fields
from tests.support.pod_fields import table


def test_the_fields_of_a_pod_are_those_of_the_client() -> None:
    said = "stale: python -m tests.support.pod_fields >statemachine/kinds/common/pod_fields.py"
    assert table() == pod_fields.TABLE, said
