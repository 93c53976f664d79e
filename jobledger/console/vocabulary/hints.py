"""What fields are for, in Chinese: models say it in English, once, for CRDs and documentation too.

A test holds the two together: a field whose sentence has no Chinese is named by it.
"""

from typing import Final

from jobledger.console.vocabulary.hints_generic import GENERIC
from jobledger.console.vocabulary.hints_kubeflow import KUBEFLOW
from jobledger.console.vocabulary.hints_t9k import T9K

HINTS: Final[dict[str, str]] = T9K | GENERIC | KUBEFLOW
