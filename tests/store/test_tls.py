"""Redis over TLS: a server, Sentinels and a cluster that ask each client for its certificate.

Their own certificate is about a name and no address, so whatever looks a master or a node up has to
come by that name.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis as redis_py

from service.app import create_app
from service.config import Settings
from service.games.errors import StoreUnavailable
from service.store.connecting import connect
from tests.api.client import ApiClient
from tests.e2e.harness import free_port, wait_until
from tests.store.certificates import DOOR, HOST, Certificates, make_certificates
from tests.store.players import figures_of, play_on_and_stop, start_players
from tests.store.servers import (
    WITHOUT_DISK,
    Cluster,
    Group,
    Node,
    as_arguments,
    port_settings,
    role_of,
)
from tests.store.uses import make_store, use_all

# Python itself forgets a socket whose other end is gone between connecting and the handshake.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <ssl.SSLSocket:ResourceWarning")

PLAYERS = 3
"""Games that are played at once."""


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory, redis_url: str) -> Certificates:
    """Return certificates for the servers and clients of these tests."""
    with redis_py.Redis.from_url(redis_url) as client:
        if not client.config_get("tls-port"):
            pytest.skip("this Redis was built without TLS: name another one in REDIS_SERVER_BIN")
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, certificates: Certificates) -> Iterator[Node]:
    """Run one server."""
    folder = tmp_path_factory.mktemp("server")
    port = free_port()
    listens = as_arguments(port_settings(port, certificates))
    node = Node(folder, port, [*listens, "--dir", str(folder), *WITHOUT_DISK], certificates)
    yield node
    node.kill()


@pytest.fixture(scope="session")
def group(tmp_path_factory: pytest.TempPathFactory, certificates: Certificates) -> Iterator[Group]:
    """Run a master, its replica and their Sentinels."""
    running = Group(tmp_path_factory.mktemp("group"), certificates)
    yield running
    running.stop()


@pytest.fixture(scope="session")
def cluster(
    tmp_path_factory: pytest.TempPathFactory, certificates: Certificates
) -> Iterator[Cluster]:
    """Run a cluster of six nodes."""
    running = Cluster(tmp_path_factory.mktemp("cluster"), certificates)
    yield running
    running.stop()


@pytest.fixture
def server_url(server: Node, certificates: Certificates) -> str:
    """Return the server's address, as settings have it."""
    return f"rediss://{HOST}:{server.port}/0?{certificates.query}"


def is_there(client: redis_py.Redis) -> bool:
    """Tell whether the store answers; any other error than that it is away is a fault."""
    try:
        make_store(client).ping()
    except StoreUnavailable:
        return False
    return True


def test_a_server_is_used_over_tls(server_url: str) -> None:
    use_all(Settings(redis_url=server_url, queue_redis_url=server_url), wait_replicas=0)


def test_the_master_of_sentinels_is_used_over_tls(group: Group) -> None:
    """The Sentinels are asked over TLS too, and name the master by its name."""
    use_all(Settings(redis_url=group.url, queue_redis_url=group.url), wait_replicas=1)


def test_a_cluster_is_used_over_tls(cluster: Cluster, server_url: str) -> None:
    """Its nodes are found by the name that they announce."""
    use_all(Settings(redis_url=cluster.url, queue_redis_url=server_url), wait_replicas=1)


@pytest.mark.parametrize("form", ["rediss", "rediss+sentinel", "rediss+cluster"])
def test_a_peer_that_is_not_trusted_is_away(
    form: str, server: Node, group: Group, cluster: Cluster, certificates: Certificates
) -> None:
    """No certificate of ours, one that nobody signed, another authority, another name, no TLS: each
    time 503 and no fault, as what it takes to mend it is another setting or another certificate.
    """
    port, path = {
        "rediss": (server.port, "/0"),
        "rediss+sentinel": (group.sentinels[0].port, "/games/0"),
        "rediss+cluster": (cluster.nodes[0].port, ""),
    }[form]
    host = DOOR if form == "rediss+cluster" else HOST
    own = f"ssl_certfile={certificates.client}&ssl_keyfile={certificates.client_key}"
    trusted = f"ssl_ca_certs={certificates.authority}"
    unusable = {
        "no certificate": f"{form}://{host}:{port}{path}?{trusted}",
        "no such certificate": f"{form}://{host}:{port}{path}?{trusted}&ssl_certfile=/none.crt",
        "another authority": f"{form}://{host}:{port}{path}?{own}",
        "another name": f"{form}://127.0.0.1:{port}{path}?{trusted}&{own}",
        "no TLS": f"{form.replace('rediss', 'redis')}://{host}:{port}{path}",
    }
    for why, url in unusable.items():
        with connect(url, 2.0) as client:
            assert not is_there(client), why


def test_what_is_checked_of_a_server_can_be_less(server: Node, certificates: Certificates) -> None:
    """Its name, or its certificate at all, need not be right where settings say so."""
    own = f"ssl_certfile={certificates.client}&ssl_keyfile={certificates.client_key}"
    for less in (
        f"ssl_ca_certs={certificates.authority}&ssl_check_hostname=false",
        "ssl_cert_reqs=none",
    ):
        with connect(f"rediss://127.0.0.1:{server.port}/0?{own}&{less}", 2.0) as client:
            assert is_there(client), less


@pytest.mark.slow
def test_games_go_on_over_tls_when_sentinels_change_masters(group: Group) -> None:
    """Nothing that a replica was waited for with is lost."""
    old, new = sorted(group.nodes, key=lambda node: role_of(node) != "master")
    settings = Settings(
        redis_url=group.url, queue_redis_url=group.url, redis_timeout_s=2.0, wait_replicas=1
    )
    players = start_players(ApiClient(create_app(settings), check_every=50), PLAYERS)

    old.kill()
    wait_until(lambda: group.is_master(new), 20, "the replica to be master")
    old.start()
    group.tell(old, new)
    play_on_and_stop(players)

    figures = figures_of(players, make_store(new.raw))
    assert [] == [player.fault for player in players if player.fault]
    assert figures["acknowledged"] > 30
    assert 0 == figures["lost"]


@pytest.mark.slow
def test_games_go_on_over_tls_when_a_master_of_the_cluster_dies(
    cluster: Cluster, server_url: str
) -> None:
    """Nothing that a replica was waited for with is lost."""
    settings = Settings(
        redis_url=cluster.url, queue_redis_url=server_url, redis_timeout_s=2.0, wait_replicas=1
    )
    players = start_players(ApiClient(create_app(settings), check_every=50), PLAYERS)

    cluster.lose_a_master()
    play_on_and_stop(players)

    with connect(cluster.url, 2.0) as client:
        figures = figures_of(players, make_store(client))
    assert [] == [player.fault for player in players if player.fault]
    assert figures["acknowledged"] > 30
    assert 0 == figures["lost"]
