"""Every test of this folder sees a real API server that knows the kinds of jobledger."""

import pytest

from tests.harness import Cluster


@pytest.fixture(autouse=True)
def cluster(job_crds: Cluster) -> Cluster:
    """The shared cluster with the kinds of jobledger."""
    return job_crds
