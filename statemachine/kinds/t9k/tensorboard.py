"""The rule about the TensorBoard of a job, G13. The object is in `objects`. Source: spec R14."""

import re
from collections.abc import Iterator
from typing import Final

from statemachine.errors import Problem
from statemachine.kinds.common.look import find
from statemachine.rulebook import Draft, Layer, Rule

_FILESET: Final = re.compile(r"t9k://pvc/[^/]+(/.*)?|t9k://minio/[^/]+/[^/]+(/.*)?", re.DOTALL)
_SENTENCE: Final = "must be t9k://pvc/<name>/<path> or t9k://minio/<secret>/<bucket>/<path>"


def _check(draft: Draft) -> Iterator[Problem]:
    filesets = find(draft.spec, "tensorboardSpec.trainingLogFilesets")
    for index, fileset in enumerate(filesets if isinstance(filesets, list) else ()):
        if isinstance(fileset, str) and not _FILESET.fullmatch(fileset):
            yield Problem("G13", f"spec.tensorboardSpec.trainingLogFilesets[{index}]", _SENTENCE)


FILESETS = Rule(
    "G13",
    Layer.CONTROLLER,
    says="`tensorboardSpec.trainingLogFilesets[]` are addresses in a volume or in object storage",
    text=f"spec.tensorboardSpec.trainingLogFilesets[<i>]: {_SENTENCE}",
    check=_check,
    source="spec R2, G13; R14",
)
