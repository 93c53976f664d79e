"""The parts of a pod template that jobledger itself reads. All else in a template is Kubernetes' business.

Used to find mistakes before pods are made of them; `args: [--epochs, 5]` is the most frequent one.
"""

from typing import Annotated, Any

from pydantic import Field

from statemachine.schema.fields import OpenPart

_Named = Annotated[str, Field(min_length=1)]


class EnvEntry(OpenPart):
    """An environment variable of a container."""

    name: _Named
    value: str | None = None


class ContainerPort(OpenPart):
    """A port of a container."""

    name: str | None = None
    container_port: int | None = None


class Resources(OpenPart):
    """What a container asks for and what it may use."""

    requests: dict[str, Any] | None = None
    limits: dict[str, Any] | None = None


class VolumeMount(OpenPart):
    """Where a container finds a volume."""

    name: str | None = None
    mount_path: str | None = None


class TemplateContainer(OpenPart):
    """A container of the pod."""

    name: _Named
    image: _Named
    command: list[str] | None = None
    args: list[str] | None = None
    env: list[EnvEntry] | None = None
    ports: list[ContainerPort] | None = None
    resources: Resources | None = None
    volume_mounts: list[VolumeMount] | None = None


class EmptyDir(OpenPart):
    """A volume that lives as long as the pod."""

    medium: str | None = None
    size_limit: Any = None


class Volume(OpenPart):
    """A volume of the pod."""

    name: _Named
    empty_dir: EmptyDir | None = None


class TemplateMeta(OpenPart):
    """Labels and annotations of the pods to be."""

    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class TemplateSpec(OpenPart):
    """The pod."""

    containers: list[TemplateContainer]
    init_containers: list[TemplateContainer] | None = None
    volumes: list[Volume] | None = None


class Template(OpenPart):
    """A pod template."""

    metadata: TemplateMeta | None = None
    spec: TemplateSpec
