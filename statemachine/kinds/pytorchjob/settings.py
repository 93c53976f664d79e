"""What is configured for PyTorchJobs: where they are managed, and what their pods are given there.

Source: kubeflow-pytorchjob.md, section 3.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from statemachine.kind import OptInSettings
from statemachine.state import JobState


class PyTorchJobSettings(OptInSettings):
    """Kubeflow's PyTorchJobs, which are managed only where that is asked for.

    Never switch them on in a namespace where Kubeflow's training operator does it, too.
    """

    namespaces: str = ""
    """Namespaces in which Kubeflow's PyTorchJobs are managed, with commas between them; `*`: in all. Default:
    none, because Kubeflow's training operator may do it, and two must never manage one namespace."""

    init_image: Annotated[str, Field(pattern="^[^ ]*$")] = ""
    """Image of the init container that waits in Workers for the Master. Default alpine:3.10, as the operator has it;
    a registry of your own may have another."""

    gang_scheduler: Literal["none", "volcano", "scheduler-plugins"] = "none"
    """What places all pods of a PyTorchJob together: none, volcano or scheduler-plugins. Default none. Like the image
    it is that of the day on which a job is first seen."""


def init_image(job: JobState) -> str:
    """The image with which the job's Workers wait."""
    return job.settings.get("init_image") or "alpine:3.10"


def gang_scheduler(settings: Mapping[str, str]) -> str:
    """What places a job's pods: none, volcano, or a scheduler that understands PodGroups of scheduler-plugins."""
    return settings.get("gang_scheduler") or "none"
