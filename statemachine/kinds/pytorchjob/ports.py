"""The ports of the training container. Source: kubeflow-pytorchjob.md, section 3."""

from typing import Any, Final

from statemachine.kinds.common.layout import Container, Slot
from statemachine.kinds.common.look import items, number, text
from statemachine.kinds.pytorchjob.roles import LAYOUT

PORT_NAME: Final = "pytorchjob-port"
DEFAULT_PORT: Final = 23456


def declared_port(slot: Slot | None) -> int:
    """The port that a type's training container declares under the usual name, else the usual number."""
    training = None if slot is None else LAYOUT.training(slot)
    found = (
        number(port, "containerPort")
        for _, port in items(training[1] if training else None, "ports")
        if text(port, "name") == PORT_NAME
    )
    return next((each for each in found if each), DEFAULT_PORT)


def with_port(container: Container) -> dict[str, Any]:
    """The training container with the port of the job declared."""
    if any(text(port, "name") == PORT_NAME for _, port in items(container, "ports")):
        return dict(container)
    own = {"name": PORT_NAME, "containerPort": DEFAULT_PORT, "protocol": "TCP"}
    return {**container, "ports": [*(container.get("ports") or ()), own]}


def service_ports(slot: Slot) -> list[dict[str, Any]]:
    """The ports of a replica's Service: all that its training container has.

    Ports of a Service need names where there are several; a container's need none.
    """
    training = LAYOUT.training(slot)
    container = with_port(training[1]) if training else {}
    return [_service_port(port) for _, port in items(container, "ports") if number(port, "containerPort")]


def _service_port(port: Container) -> dict[str, Any]:
    value = number(port, "containerPort")
    name = text(port, "name") or f"port-{value}"
    return {"name": name, "port": value, "protocol": text(port, "protocol") or "TCP", "targetPort": value}
