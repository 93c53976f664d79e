"""The words by the part of the console that says them, each as (English, Chinese)."""

from jobledger.console.vocabulary.actions import ACTIONS
from jobledger.console.vocabulary.details import DETAILS
from jobledger.console.vocabulary.form import FORM
from jobledger.console.vocabulary.frame import FRAME
from jobledger.console.vocabulary.help import HELP
from jobledger.console.vocabulary.listing import LISTING

__all__ = ["ACTIONS", "DETAILS", "FORM", "FRAME", "HELP", "LISTING"]
