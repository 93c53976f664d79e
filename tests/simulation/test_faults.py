"""Every fault of the list happens, and by itself breaks no promise."""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Final

import pytest

from tests.simulation import (
    chaos,
    chaos_cluster,
    chaos_kafka,
    chaos_log,
    chaos_parts,
    letters,
    newer_on_kafka,
    projected,
    versions,
)
from tests.simulation.apart import ApartWorld
from tests.simulation.chaos import Action
from tests.simulation.faults_list import FAULTS, Drawn
from tests.simulation.letters import LettersWorld
from tests.simulation.newer_on_kafka import NewerWorld
from tests.simulation.on_kafka import KafkaWorld
from tests.simulation.projected import ProjectedWorld
from tests.simulation.run import simulate
from tests.simulation.shapes import PYTORCH
from tests.simulation.troubled import TroubledWorld
from tests.simulation.versions import VersionsWorld
from tests.simulation.views_on_kafka import ViewsWorld
from tests.simulation.world import World
from tests.support.faults import Odds

_ODDS: Final = tuple(field.name for field in fields(Odds) if field.name != "slow")

_SEEDS: Final = 40
"""So many at most until a fault has happened: some need a pod at the right moment."""

_BY: Final[Mapping[str, Action]] = {
    "killed": chaos.crash,
    "stopped": chaos.stop,
    "second_controller": chaos.usurp,
    "part_killed": chaos_parts.kill_part,
    "part_stopped": chaos_parts.stop_part,
    "part_away": chaos_parts.part_away,
    "frozen": chaos_parts.freeze,
    "crash_loop": chaos_parts.crash_loop,
    "second_bridge": chaos_parts.second_bridge,
    "clock_jump": chaos.jump,
    "skew": chaos_parts.skew,
    "log_down": chaos.log_down,
    "snapshots_deleted": chaos_log.snapshots_deleted,
    "snapshots_older": chaos_log.snapshots_older,
    "snapshots_newer": chaos_log.snapshots_newer,
    "snapshots_damaged": chaos_log.snapshots_damaged,
    "snapshots_unsealed": chaos_log.snapshots_unsealed,
    "newer_cause": versions.newer_cause,
    "newer_event": versions.newer_event,
    "older_history": chaos.edit_spec,
    "suspended": chaos_kafka.freeze,
    "cut_off": chaos_kafka.cut,
    "brokers_away": chaos_kafka.away,
    "owner_fenced": chaos_kafka.fence,
    "compacted": chaos_kafka.compact,
    "token_expired": chaos_cluster.token_expires,
    "overload": chaos_cluster.overload,
    "no_leader": chaos_cluster.no_leader,
    "webhook_outage": chaos_cluster.webhook_outage,
    "policy": chaos_cluster.policy,
    "cluster_down": chaos.cluster_down,
    "create_denied": chaos.deny,
    "delete_denied": chaos.deny,
    "watches_dropped": chaos.drop_watches,
    "mute_watches": chaos_cluster.mute_watches,
    "observed_again": chaos.repeat,
    "pod_deleted": chaos.delete_pod,
    "pod_removed": chaos.remove_pod,
    "pod_evicted": chaos.evict,
    "pod_ended": chaos.end_pod,
    "sight_lost": chaos.lose_sight,
    "node_lost": chaos_cluster.lose_node,
    "node_back": chaos_cluster.lose_node,
    "node_gone": chaos_cluster.lose_node,
    "namespace_ends": chaos_cluster.end_namespace,
    "pod_name_taken": chaos_cluster.squat_pod,
    "owner_stripped": chaos_cluster.strip_owner,
    "labels_stripped": chaos_cluster.strip_owner,
    "pod_relabelled": chaos_cluster.relabel_pod,
    "job_relabelled": chaos.relabel_job,
    "service_deleted": chaos.squat,
    "name_taken": chaos.squat,
    "tensorboard_deleted": chaos.tensorboard,
    "database_locked": projected.lock,
    "database_slow": projected.slow,
    "database_restored": projected.restore,
}

_APART: Final = ("part_killed", "part_stopped", "second_bridge", "skew", "inbox_lost_reply")
_KAFKA: Final = ("suspended", "cut_off", "brokers_away", "owner_fenced", "compacted", "died_at_request")
_VERSIONS: Final = ("newer_cause", "newer_event", "older_history")


def test_every_fault_that_is_drawn_is_in_the_list_and_the_other_way_round() -> None:
    assert {*_ODDS} == {name for name, fault in FAULTS.items() if fault.drawn is Drawn.ODDS}
    assert {*_BY} == {name for name, fault in FAULTS.items() if fault.drawn is not Drawn.ODDS}
    assert len(FAULTS) >= 35


def test_every_action_of_every_family_is_one_of_a_fault_or_a_users() -> None:
    users = {chaos.edit_spec, chaos.delete_job, letters.read_metrics, letters.retry_letters}
    users |= {newer_on_kafka.retry_letters}
    on_kafka = (KafkaWorld, ViewsWorld, NewerWorld)
    families = (World, TroubledWorld, ApartWorld, *on_kafka, ProjectedWorld, VersionsWorld, LettersWorld)
    actions = {action for family in families for action in family.actions or chaos.ACTIONS}
    assert actions - users <= {*_BY.values()}


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_happens_and_alone_breaks_no_promise(name: str) -> None:
    family = alone(name)
    assert any(name in world.happened for world in _worlds(family))


def _worlds(family: type[World]) -> Iterator[World]:
    return (simulate(seed, PYTORCH, family) for seed in range(_SEEDS))


def alone(name: str) -> type[World]:
    """A family of worlds in which nothing happens but this, and what follows from it."""
    base: type[World] = TroubledWorld
    if name in _APART:
        base = ApartWorld
    elif name in _KAFKA:
        base = KafkaWorld
    elif name in _VERSIONS:
        base = VersionsWorld
    elif name.startswith("database"):
        base = ProjectedWorld
    at_most = 0.1 if name == "crash" else 0.6
    odds = dict.fromkeys(_ODDS, 0.0) | ({name: at_most} if name in _ODDS else {})
    action = _BY.get(name, chaos.edit_spec)
    only = {"odds": odds, "of_requests": {}, "actions": (action,), "share": 1.0, "possible": 1.0}
    return type("Alone", (base,), only)
