"""The fixtures of clusters, Kafka and PostgreSQL. The tests of a process share one of each.

Beside them stand servers that tests may kill, freeze and change: `killable_plane`, `audited_plane`, `killable_kafka`,
`killable_kafkas`, `secure_kafka`, `killable_postgres`. The tests that want one are a group, which runs in one process
(`tests.harness.groups`); after a test the server runs again as a whole.

`JOBLEDGER_KUBECONFIG` names the kubeconfig of a cluster to use instead: one that may be written to, with nodes that
run pods. Namespaces made there are deleted again, CRDs stay.
"""

import asyncio
import os
import shutil
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import pytest

from statemachine.log.kafka.address import Address
from tests.harness.broker import Kafka
from tests.harness.cluster import JOB_CRDS, NEIGHBOUR_CRDS, OPT_IN_CRDS, Cluster
from tests.harness.control_plane import ControlPlane
from tests.harness.dns import ClusterDns
from tests.harness.postgres import Postgres, binaries
from tests.harness.programs import COREDNS, HELM, KAFKA, KUBE, built

LEDGER_PARTITIONS: Final = 2
"""Of the topics that `ledger_topics` makes."""


@contextmanager
def own_control_plane(home: Path, **options: Any) -> Iterator[ControlPlane]:
    """A control plane as long as the block lasts; skips where none is built. `options` are those of ControlPlane."""
    _require(KUBE)
    with ControlPlane(home, **options) as started:
        yield started


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The cluster that all tests of the run share. Leave nothing in it but what is in a namespace of your own."""
    home = tmp_path_factory.mktemp("kube")
    if config := os.environ.get("JOBLEDGER_KUBECONFIG"):
        with closing(_existing(Path(config), home)) as cluster:
            yield cluster
    else:
        with own_control_plane(home) as started:
            yield started


@pytest.fixture(scope="session")
def killable_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane of one node whose parts may be killed, and which has kinds only if a test installs them."""
    with own_control_plane(tmp_path_factory.mktemp("killable"), nodes=1, readable=True) as started:
        yield started


@pytest.fixture(scope="session")
def audited_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """The same with all kinds, and an audit log: a test calls `forget_audit` first."""
    with own_control_plane(tmp_path_factory.mktemp("audited"), nodes=2, audit=True) as started:
        for folder in (JOB_CRDS, OPT_IN_CRDS, NEIGHBOUR_CRDS):
            started.install(folder)
        yield started


@pytest.fixture(scope="session")
def simulated(control_plane: Cluster) -> ControlPlane:
    """The shared cluster, for tests that tell simulated nodes how pods live."""
    if not isinstance(control_plane, ControlPlane):
        pytest.skip("the nodes of the cluster in JOBLEDGER_KUBECONFIG are not simulated")
    return control_plane


@pytest.fixture(scope="session")
def job_crds(control_plane: Cluster) -> Cluster:
    """The shared cluster with the kinds of jobledger."""
    control_plane.install(JOB_CRDS)
    control_plane.install(OPT_IN_CRDS)
    return control_plane


@pytest.fixture(scope="session")
def neighbour_crds(control_plane: Cluster) -> Cluster:
    """The shared cluster with the kinds PodGroup, Queue and TensorBoard."""
    control_plane.install(NEIGHBOUR_CRDS)
    return control_plane


@pytest.fixture(scope="session")
def helm(control_plane: Cluster) -> Cluster:
    """The shared cluster, for tests that call helm."""
    _require(HELM)
    return control_plane


@pytest.fixture(scope="session")
def cluster_dns(simulated: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterDns]:
    """The DNS of the shared cluster: every Service has a name in it."""
    _require(COREDNS)
    with ClusterDns(simulated, tmp_path_factory.mktemp("coredns")) as started:
        yield started


@pytest.fixture
def namespace(control_plane: Cluster) -> Iterator[str]:
    """A namespace for one test."""
    with control_plane.namespace() as name:
        yield name


# ---- Kafka -------------------------------------------------------------------------------------------------------


@contextmanager
def own_kafka(home: Path, **options: Any) -> Iterator[Kafka]:
    """A Kafka as long as the block lasts; skips where there is none. `options` are those of Kafka."""
    _require(KAFKA)
    with Kafka(home, **options) as started:
        yield started


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    """The one node that all tests of the run share. Do not stop it; make topics with a prefix of your own."""
    with own_kafka(tmp_path_factory.mktemp("kafka")) as started:
        yield started


@pytest.fixture(scope="session")
def killable_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    """One node that may be killed and frozen."""
    with own_kafka(tmp_path_factory.mktemp("killable-kafka")) as started:
        yield started


@pytest.fixture(scope="session")
def killable_kafkas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    """Three nodes that may be killed and frozen."""
    with own_kafka(tmp_path_factory.mktemp("killable-kafkas"), nodes=3) as started:
        yield started


@pytest.fixture(scope="session")
def secure_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    """One node with TLS, users and ACLs. What a test grants to a user stays granted."""
    with own_kafka(tmp_path_factory.mktemp("secure-kafka"), secure=True) as started:
        yield started


@pytest.fixture
def ledger_topics(kafka: Kafka) -> Iterator[Address]:
    """The topics of a ledger for one test, gone after it."""
    with ledger_topics_on(kafka) as address:
        yield address


@contextmanager
def ledger_topics_on(kafka: Kafka, partitions: int = LEDGER_PARTITIONS) -> Iterator[Address]:
    """The topics of a ledger under a prefix that nobody else has, as long as the block lasts."""
    from statemachine.log.kafka import topics

    with fresh_address(kafka) as address:
        _apart(topics.apply(address, partitions=partitions, replication=min(3, kafka.nodes)))
        yield address


@contextmanager
def fresh_address(kafka: Kafka) -> Iterator[Address]:
    """A prefix that nobody else has; topics that were made under it are deleted when the block ends."""
    address = Address(tuple(kafka.servers.split(",")), prefix=f"test-{uuid4().hex[:12]}")
    try:
        yield address
    finally:
        _apart(_delete_topics(address, f"{address.prefix}."))


async def _delete_topics(address: Address, beginning: str) -> None:
    """Those whose names begin so, but for Kafka's own."""
    from aiokafka.admin import AIOKafkaAdminClient

    from statemachine.log.kafka.clients import insisted

    admin = AIOKafkaAdminClient(**address.options())
    await admin.start()
    try:
        names = await insisted(admin.list_topics)  # a test may have killed a broker that the client knows of
        ours = [name for name in names if name.startswith(beginning) and not name.startswith("__")]
        if ours:
            await admin.delete_topics(ours)
    finally:
        await admin.close()


def _apart(work: Coroutine[Any, Any, object]) -> None:
    """`work` is done, in a loop of its own that no test's loop notices."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, work).result()


# ---- PostgreSQL --------------------------------------------------------------------------------------------------


@contextmanager
def own_postgres() -> Iterator[Postgres]:
    """A PostgreSQL as long as the block lasts; skips where there is none."""
    _, missing = binaries()
    if missing:
        pytest.skip(missing)
    with Postgres() as started:
        yield started


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """The server that all tests of the run share. Do not stop it; use a database of your own."""
    with own_postgres() as started:
        yield started


@pytest.fixture(scope="session")
def killable_postgres() -> Iterator[Postgres]:
    """A server that may be killed and frozen."""
    with own_postgres() as started:
        yield started


@pytest.fixture
def postgres_database(postgres: Postgres) -> Iterator[str]:
    """The URL of an empty database for one test, gone after it."""
    name = postgres.fresh()
    yield postgres.url(name)
    postgres.drop(name)


# ---- whole again -------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _servers_are_whole_again(request: pytest.FixtureRequest) -> Iterator[None]:
    """A server that a test may kill runs again when the test and all its other fixtures are over."""
    yield
    for name, restore in _RESTORE.items():
        if name in request.fixturenames:
            restore(request.getfixturevalue(name))


def _without_topics(kafka: Kafka) -> None:
    """No topic of one test is in the way of another that uses the same prefix."""
    address = Address(tuple(kafka.servers.split(",")), security=kafka.security("admin"))
    _apart(_delete_topics(address, ""))


_RESTORE: Final[dict[str, Callable[[Any], None]]] = {
    "killable_plane": ControlPlane.bring_back,
    "audited_plane": ControlPlane.bring_back,
    "killable_kafka": Kafka.start,
    "killable_kafkas": Kafka.start,
    "secure_kafka": _without_topics,
    "killable_postgres": Postgres.restore,
}


# ---- what all need ----------------------------------------------------------------------------------------------


def _require(program: Path) -> None:
    _, missing = built(program)
    if missing:
        pytest.skip(missing)


def _existing(kubeconfig: Path, home: Path) -> Cluster:
    """The cluster of a kubeconfig, with our kubectl or else the one on PATH."""
    ours, _ = built(KUBE)
    kubectl = shutil.which("kubectl")
    if not (ours or kubectl):
        pytest.skip("JOBLEDGER_KUBECONFIG is set, and there is no kubectl: make cluster-tools")
    return Cluster(kubeconfig.absolute(), home, [str(ours), "kubectl"] if ours else [str(kubectl)])
