"""A cluster for the tests of the store."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis as redis_py

from service.store.connecting import connect
from tests.store.servers import Cluster


@pytest.fixture(scope="session")
def cluster_of_nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Run a cluster of six nodes for the whole session."""
    running = Cluster(tmp_path_factory.mktemp("cluster"))
    yield running
    running.stop()


@pytest.fixture(scope="session")
def client_of_cluster(cluster_of_nodes: Cluster) -> Iterator[redis_py.Redis]:
    """Return a client as the service makes it."""
    with connect(cluster_of_nodes.url, 2.0) as client:
        yield client


@pytest.fixture
def cluster(cluster_of_nodes: Cluster, client_of_cluster: redis_py.Redis) -> redis_py.Redis:
    """Empty the session's cluster and return a client of it; answers are bytes."""
    for node in cluster_of_nodes.masters:
        node.client.flushall()
    return client_of_cluster
