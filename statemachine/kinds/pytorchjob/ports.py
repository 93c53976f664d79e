"""The ports of the training container. Source: kubeflow-pytorchjob.md, section 3."""

from typing import Any, Final

from statemachine.kinds.pytorchjob.roles import LAYOUT
from statemachine.schema.layout import Container, Slot
from statemachine.schema.lookup import items, number, text

PORT_NAME: Final = "pytorchjob-port"
DEFAULT_PORT: Final = 23456


def declared_port(slot: Slot | None) -> int:
    """The port that a type's training container declares under the usual name, else the usual number."""
    training = None if slot is None else LAYOUT.training(slot)
    ports = (
        number(port, "containerPort")
        for _, port in items(training[1] if training else None, "ports")
        if text(port, "name") == PORT_NAME
    )
    return next((port for port in ports if port), DEFAULT_PORT)


def with_port(container: Container) -> dict[str, Any]:
    """The training container with the port of the job declared."""
    if any(text(port, "name") == PORT_NAME for _, port in items(container, "ports")):
        return dict(container)
    own = {"name": PORT_NAME, "containerPort": DEFAULT_PORT, "protocol": "TCP"}
    return {**container, "ports": [*(container.get("ports") or ()), own]}


def service_ports(slot: Slot) -> list[dict[str, Any]]:
    """The ports of a replica's Service: all that its training container has, in its order.

    A Service wants names, of which a container needs none, and each number once for a protocol.
    """
    training = LAYOUT.training(slot)
    container = with_port(training[1]) if training else {}
    ports: dict[tuple[int, str], dict[str, Any]] = {}
    for _, item in items(container, "ports"):
        value, protocol = number(item, "containerPort"), text(item, "protocol") or "TCP"
        if value:
            usual = f"port-{value}" if protocol == "TCP" else f"port-{value}-{protocol.lower()}"
            port = {
                "name": text(item, "name") or usual,
                "port": value,
                "protocol": protocol,
                "targetPort": value,
            }
            ports.setdefault((value, protocol), port)
    return list(ports.values())
