"""The form of a XGBoostTrainingJob: names and sentences of the fields that it alone has."""

from typing import Final

from statemachine.kinds.t9k.form import t9k_form

CHINESE: Final[dict[str, str]] = {
    "The master and the workers. The master decides the result.": "master 和 worker。master 决定结果。",
    "master or worker. Becomes part of pod names.": "master 或 worker，会成为 Pod 名称的一部分。",
}

FORM: Final = t9k_form(chinese=CHINESE)
