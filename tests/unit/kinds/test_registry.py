"""Which kind a manifest is of."""

import pytest

from statemachine.errors import SpecInvalid
from statemachine.kind import Kind
from statemachine.kinds import KINDS, KNOWN, UnknownKind, kind_of, meant_by
from tests.unit.kinds.build import API, KIND


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.names.kind)
def test_every_kind_is_looked_up_by_its_name(kind: Kind) -> None:
    assert kind_of(kind.names.api_version, kind.names.kind) is kind


def test_names_are_unique() -> None:
    plurals = [f"{kind.names.plural}.{kind.names.group}" for kind in KINDS]
    short = [name for kind in KINDS for name in kind.names.short]
    assert len(set(plurals)) == len(plurals) == len(KNOWN)
    assert len(set(short)) == len(short)


def test_the_error_for_an_unknown_kind_names_the_nearest_known_one() -> None:
    with pytest.raises(UnknownKind) as caught:
        kind_of(API, "PytorchTraningJob")
    assert isinstance(caught.value, SpecInvalid)
    assert str(caught.value).endswith('; did you mean "PyTorchTrainingJob"?')


def test_the_error_for_another_version_of_a_known_kind_names_the_version() -> None:
    with pytest.raises(UnknownKind) as caught:
        kind_of("batch.tensorstack.dev/v1", KIND)
    assert str(caught.value) == (
        f'apiVersion: Unsupported value: "batch.tensorstack.dev/v1": supported values: "{API}"'
    )


@pytest.mark.parametrize("kind", ["", "Pod", "x" * 10_000])
def test_a_kind_far_from_all_gets_no_guess(kind: str) -> None:
    with pytest.raises(UnknownKind) as caught:
        kind_of("v1", kind)
    assert "did you mean" not in str(caught.value)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.names.kind)
def test_users_call_a_kind_as_with_kubectl_and_mean_its_older_names_too(kind: Kind) -> None:
    names = kind.names
    for word in (names.kind, names.kind.lower(), names.plural, names.singular, *names.short):
        assert meant_by(word) == (names, *kind.aliases)
    for alias in kind.aliases:
        assert meant_by(alias.kind) == (alias,)


def test_what_no_kind_is_called_means_none() -> None:
    assert meant_by("") == meant_by("pods") == ()
