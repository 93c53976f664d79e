"""The form of a TensorFlowTrainingJob: names and sentences of the fields that it alone has."""

from typing import Final

from statemachine.kinds.t9k.form import t9k_form

CHINESE: Final[dict[str, str]] = {
    "The replicas by type. The chief decides the result; without a chief worker 0 does.": (
        "各类型的副本。chief 决定结果；没有 chief 时由 0 号 worker 决定。"
    ),
    "chief, worker, ps or evaluator. Becomes part of pod names.": (
        "chief、worker、ps 或 evaluator，会成为 Pod 名称的一部分。"
    ),
}

FORM: Final = t9k_form(chinese=CHINESE)
