"""The state on a Redis Cluster: what the contract does not ask, and games through a failover.

`test_contract.py` holds the store over a cluster to what it holds the others to.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from itertools import count

import pytest
import redis as redis_py
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from service import tracing
from service.app import create_app
from service.config import Settings
from service.games.errors import StoreUnavailable
from service.games.ports import Commit, RequestKey
from service.store.app_keys import RedisAppKeys
from service.store.connecting import connect
from service.store.figures import Figures
from service.store.limits import redis_limits
from tests.api.client import ApiClient
from tests.e2e.harness import free_port
from tests.store.players import figures_of, play_on_and_stop, start_players
from tests.store.servers import Cluster
from tests.store.uses import make_store, use_all

PLAYERS = 5
"""Games that are played at once; of three masters each has some, by chance."""


def test_apps_limits_and_figures_are_kept_on_a_cluster(
    cluster: redis_py.Redis, redis: redis_py.Redis
) -> None:
    apps = RedisAppKeys(cluster)
    letters = count()
    made = [apps.create(f"app-{n}", lambda _size: f"secret-{next(letters)}", n) for n in range(5)]
    first, *others = apps.list()
    assert apps.revoke(first.key_hash)
    assert apps.list() == others
    assert len(made) == 5

    limits = redis_limits(cluster, lambda: 60.0)
    allowances = [limits.take("actions", who, 2) for who in ("ana", "bo", "ana", "ana")]
    assert [allowance.is_allowed for allowance in allowances] == [True, True, True, False]

    store = make_store(cluster)
    store.count({"games:created": 2.0})
    store.mark_waiting("g", 1.0)
    figures = Figures(cluster, redis)
    assert (figures.counters(), figures.waiting_for_bots()) == ({"games:created": 2.0}, 1)
    store.commit(Commit("g", 0, "playing", {}))
    assert figures.games(time.time())["playing"] == 1


def test_all_that_is_done_with_redis_is_done_on_a_cluster(
    cluster_of_nodes: Cluster, redis_url: str
) -> None:
    use_all(Settings(redis_url=cluster_of_nodes.url, queue_redis_url=redis_url), wait_replicas=1)


def test_what_a_cluster_is_asked_is_told_in_traces(cluster_of_nodes: Cluster) -> None:
    """Commands, and what goes to one node by itself, on which WAIT is asked."""
    exporter = InMemorySpanExporter()
    tracing.trace_to(SimpleSpanProcessor(exporter), "tests")
    try:
        with connect(cluster_of_nodes.url, 2.0) as client:
            store = make_store(client, wait_replicas=1)
            store.ping()
            with tracing.span("around"):
                store.commit(Commit(uuid.uuid4().hex, 0, "playing", {}))
                store.newest_task("nobody", "hint")
    finally:
        tracing.stop_tracing()

    spans = exporter.get_finished_spans()
    pipelines = [span.attributes or {} for span in spans if span.name == "PIPELINE"]
    assert "EVALSHA commit WAIT" == pipelines[0]["db.query.summary"]
    assert {"HINCRBYFLOAT", "ZADD"} <= {
        name for each in pipelines for name in str(each["db.query.summary"]).split()
    }
    assert "GET" in {span.name for span in spans}


def test_games_lie_on_all_masters_and_each_on_one(
    cluster: redis_py.Redis, cluster_of_nodes: Cluster
) -> None:
    store = make_store(cluster)
    for number in range(30):
        store.commit(Commit(f"g{number}", 0, "playing", {}))
        store.commit(
            Commit(f"g{number}", 1, "playing", {}, {"version": 1}, RequestKey("n", "f"), {})
        )
        store.new_task(f"g{number}", "hint", {"status": "queued"}, 60)

    places: dict[str, set[int]] = {}
    for node in cluster_of_nodes.masters:
        for key in node.client.scan_iter("prs:{g*"):
            places.setdefault(key.split("}")[0], set()).add(node.port)

    assert len(places) == 30
    assert {len(ports) for ports in places.values()} == {1}
    assert set.union(*places.values()) == {node.port for node in cluster_of_nodes.masters}


def test_a_cluster_that_is_not_there_stops_no_start_and_is_away() -> None:
    url = f"redis+cluster://127.0.0.1:{free_port()},127.0.0.1:{free_port()}"
    settings = Settings(redis_url=url, queue_redis_url="unix:///nowhere.sock", redis_timeout_s=0.3)

    assert create_app(settings).test_client().get("/readyz").status_code == 503

    with connect(url, 0.3) as client:
        store = make_store(client, wait_replicas=1)
        uses: list[Callable[[], object]] = [
            store.ping,
            lambda: store.load("g"),
            lambda: store.commit(Commit("g", 0, "playing", {})),
            lambda: store.wait_for_version("g", 0, 1),
            lambda: redis_limits(client, lambda: 60.0).take("actions", "ana", 2),
        ]
        for use in uses:
            with pytest.raises(StoreUnavailable):
                use()


@pytest.mark.slow
@pytest.mark.parametrize("wait_replicas", [0, 1])
def test_games_go_on_through_the_death_of_a_master(
    cluster: redis_py.Redis,
    cluster_of_nodes: Cluster,
    redis_url: str,
    wait_replicas: int,
    record_property: Callable[[str, object], None],
) -> None:
    """With a replica waited for, nothing that was acknowledged is lost; without, it is counted.

    While the dead one is away, its replica, master now, has none itself: with one waited for, its
    games stand still until the dead one is back.
    """
    settings = Settings(
        redis_url=cluster_of_nodes.url,
        queue_redis_url=redis_url,
        redis_timeout_s=2.0,
        wait_replicas=wait_replicas,
    )
    api = ApiClient(create_app(settings), check_every=50)
    players = start_players(api, PLAYERS)

    cluster_of_nodes.lose_a_master()
    play_on_and_stop(players)

    figures = figures_of(players, make_store(cluster))
    print("cluster", "wait", wait_replicas, figures)
    for name, value in figures.items():
        record_property(name, value)
    assert [] == [player.fault for player in players if player.fault]
    assert figures["acknowledged"] > 30
    if wait_replicas:
        assert 0 == figures["lost"]
    assert api.get("/readyz").status == 200
