"""The user's variables that the controller sets itself: G16, and K17 of PyTorchJobs. Source: spec R2."""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from statemachine.rulebook import Draft, Layer, Notice, Rule
from statemachine.schema.layout import Container, Layout, Slot
from statemachine.schema.lookup import items, text


def env_overridden(
    id_: str,
    layout: Layout,
    generated: Callable[[Mapping[str, Any]], Collection[str]],
    changed: Callable[[Slot], Iterator[Container]],
    *,
    source: str,
) -> Rule:
    """The warning of variables named as those which the kind sets: `generated` tells their names for a spec.

    `changed`: the containers of a template in which they are set.
    """

    def check(draft: Draft) -> Iterator[Notice]:
        names = generated(draft.spec)
        for slot in layout.slots(draft.spec):
            for container in changed(slot):
                yield from _replaced(container, names)

    return Rule(
        id_,
        Layer.WARNING,
        says="the user's environment has no variable that the controller sets",
        text='env "<name>" of container "<c>" is replaced by the controller',
        check=check,
        source=source,
    )


def _replaced(container: Container, generated: Collection[str]) -> Iterator[Notice]:
    for _, entry in items(container, "env"):
        name = text(entry, "name")
        if name in generated:
            of = text(container, "name")
            yield Notice("EnvOverridden", f'env "{name}" of container "{of}" is replaced by the controller')
