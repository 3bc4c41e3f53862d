"""Values: what the chart refuses, and that whatever its schema lets pass makes valid manifests."""

from __future__ import annotations

import copy
import itertools
import json
import re

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from service.config import ClusterUrl, SentinelUrl, Settings
from tests.deploy import charts
from tests.deploy.charts import CHART, of_kind, pod_specs

SCHEMA = json.loads((CHART / "values.schema.json").read_text())
MINIMAL = charts.values_of(CHART / "ci" / "minimal-values.yaml")
PRODUCTION = charts.values_of(CHART / "ci" / "production-values.yaml")
HELM = itertools.cycle(charts.HELMS)

REFUSED = {
    "no Redis": ("redis.trial.enabled", False),
    "a Redis by another protocol": ("redis.state.url", "http://redis:6379/0"),
    "a password in plain": ("redis.state.url", "redis://:secret@redis:6379/0"),
    "Sentinels of nobody": ("redis.state.sentinel", {"hosts": ["sentinel"]}),
    "Sentinels and a Redis": (
        "redis.state",
        {"url": "redis://redis:6379/0", "sentinel": {"hosts": ["sentinel"], "service": "rummy"}},
    ),
    "a cluster and no place for the queues": (
        "redis",
        {"trial": {"enabled": False}, "state": {"cluster": {"hosts": ["redis"]}}},
    ),
    "queues on a cluster": ("redis.queue", {"cluster": {"hosts": ["redis"]}}),
    "a cluster and a Redis": (
        "redis",
        {
            "state": {"url": "redis://redis:6379/0", "cluster": {"hosts": ["redis"]}},
            "queue": {"url": "redis://redis:6379/0"},
        },
    ),
    "a port beyond all": ("redis.state.url", "redis://redis:65536/0"),
    "a variable in a user's name": ("redis.state.username", "$(PATH)"),
    "an unknown value": ("replicas", 3),
    "an unknown setting": ("config.colour", "red"),
    "an unknown queue": ("workers.dreams.enabled", True),
    "no worker for the bots": ("workers.bots.enabled", False),
    "no lasting worker for the bots": ("workers.bots.minReplicas", 0),
    "more workers at least than at most": ("workers.hints.minReplicas", 11),
    "no pod of the API": ("api.replicas", 0),
    "more pods at least than at most": (
        "api.autoscaling",
        {"enabled": True, "minReplicas": 9, "maxReplicas": 3},
    ),
    "the image that moves": ("image.tag", "latest"),
    "half a digest": ("image.digest", "sha256:abc"),
    "no image": ("image.repository", ""),
    "a Redis image without version": ("redis.trial.image.tag", ""),
    "a port that is a word": ("service.port", "http"),
    "no limit": ("api.resources.limits", None),
    "a wrong quantity": ("api.resources.limits.memory", "half"),
    "an ingress to nowhere": ("ingress.enabled", True),
    "a host with a path": ("ingress.hosts", ["example.org/path"]),
    "an origin with a path": ("config.cors_origins", ["https://example.org/"]),
    "an unknown word": ("config.auth", "no"),
    "a boolean where a word belongs": ("config.auth", True),
    "a job without end": ("config.job_timeout_s", 0),
    "a whole number that is a text": ("config.job_timeout_s", "60"),
    "a name with capitals": ("fullnameOverride", "Rummy"),
    "a name that begins with a digit": ("fullnameOverride", "1rummy"),
    "an account that nobody names": ("serviceAccount", {"create": False, "name": ""}),
    "a budget that blocks every drain": ("api.podDisruptionBudget.maxUnavailable", 0),
    "a label of the chart's": ("api.podLabels", {"app.kubernetes.io/name": "other"}),
    "a runbook with a section of its own": ("metrics.alerts.runbookUrl", "https://a.example/#b"),
}


def put(values, path, value):
    """Return a copy of `values` with one changed; None takes it away."""
    changed = copy.deepcopy(values)
    *folders, last = path.split(".")
    at = changed
    for folder in folders:
        at = at.setdefault(folder, {})
    at[last] = value
    return changed


@pytest.mark.parametrize("what", REFUSED)
def test_what_would_not_work_is_refused(what):
    """By the schema, or, where two values do not fit, by a sentence of the templates."""
    path, value = REFUSED[what]

    with pytest.raises(charts.Refused):
        charts.template(next(HELM), put(MINIMAL, path, value))


def test_the_defaults_alone_are_refused():
    """Where the games are must be said."""
    for helm in charts.HELMS:
        with pytest.raises(charts.Refused, match="redis"):
            charts.template(helm, {})


def test_every_object_of_the_schema_is_closed():
    """A misspelt value is refused and not ignored, wherever it stands."""
    open_ones = []

    def look(schema, path):
        if isinstance(schema, dict):
            is_object = "properties" in schema and schema.get("type") == "object"
            if is_object and schema.get("additionalProperties") is not False:
                open_ones.append(path)
            for key, value in schema.items():
                look(value, f"{path}/{key}")

    look({key: SCHEMA[key] for key in ("properties", "definitions")}, "")
    assert [] == open_ones


def from_schema(schema):
    """Return a strategy for what a schema of the chart's lets pass."""
    if "$ref" in schema:
        return from_schema(SCHEMA["definitions"][schema["$ref"].rpartition("/")[2]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "oneOf" in schema:
        return st.one_of(*map(from_schema, schema["oneOf"]))
    kind = schema.get("type")
    if kind == "boolean":
        return st.booleans()
    if kind == "integer":
        return st.integers(schema["minimum"], schema["maximum"])
    if kind == "number":
        low = schema.get("minimum", schema.get("exclusiveMinimum"))
        return st.integers(low if low == int(low) else 1, schema.get("maximum", 1000)).filter(bool)
    if kind == "array":
        low = schema.get("minItems", 0)
        return st.lists(from_schema(schema["items"]), min_size=low, max_size=2, unique_by=repr)
    if kind == "string":
        return text_of(schema)
    return object_of(schema)


# Words that YAML takes for something else where nobody has quoted them.
TRAPS = ("true", "null", "1", "0x1", "1e3", "on", "no", "2024", "1_000", "0o7", "0")


def text_of(schema):
    """Return a strategy for texts of a pattern, with traps among them."""
    pattern = schema.get("pattern", r"^[a-z0-9 :#'-]{1,9}$")
    traps = [trap for trap in TRAPS if re.search(pattern, trap)]
    made = st.from_regex(re.compile(pattern, re.ASCII), fullmatch=True)
    made = made.filter(
        lambda text: (
            schema.get("minLength", 0) <= len(text) <= schema.get("maxLength", 200)
            and not text.endswith("\n")
            and text != schema.get("not", {}).get("const")
        )
    )
    return st.one_of(st.sampled_from(traps), made) if traps else made


def object_of(schema):
    """Return a strategy for objects of a schema."""
    properties = schema.get("properties", {})
    if not properties:
        more = schema.get("additionalProperties")
        if not isinstance(more, dict):
            return st.just({})
        # Names of labels and of kinds of resource.
        needed = st.fixed_dictionaries(
            {key: from_schema(more) for key in schema.get("required", ())},
        )
        extra = st.dictionaries(
            st.from_regex(r"example\.org/[a-z]{1,8}", fullmatch=True), from_schema(more), max_size=2
        )
        return st.tuples(needed, extra).map(lambda both: both[1] | both[0])
    made = {key: from_schema(value) for key, value in properties.items()}
    needed = {key: made.pop(key) for key in schema.get("required", ()) if key in made}
    return st.fixed_dictionaries(needed, optional=made)


PARTS = {
    name: from_schema(schema)
    for name, schema in SCHEMA["properties"].items()
    if name not in ("global", "redis", "workers", "workerDefaults", "ingress", "networkPolicy")
}
WORKER = from_schema({"$ref": "#/definitions/worker"})
REDIS_SCHEMA = SCHEMA["properties"]["redis"]["properties"]
URL = from_schema(SCHEMA["definitions"]["redis"]["properties"]["url"]).filter(bool)
REDIS = st.fixed_dictionaries(
    {"url": URL},
    optional={
        "username": from_schema(SCHEMA["definitions"]["redis"]["properties"]["username"]),
        "passwordSecret": from_schema({"$ref": "#/definitions/secretKey"}),
    },
)


@st.composite
def all_values(draw):
    """Values that the schema lets pass and that fit each other."""
    made = draw(st.fixed_dictionaries({}, optional=PARTS))
    made["redis"] = draw(
        st.fixed_dictionaries(
            {"state": REDIS},
            optional={
                "queue": REDIS,
                "caSecret": from_schema({"$ref": "#/definitions/secretKey"}),
                "clientSecret": from_schema(REDIS_SCHEMA["clientSecret"]),
                "trial": st.fixed_dictionaries({"enabled": st.booleans()}),
            },
        )
    )
    made["workers"] = {
        queue: draw(WORKER) for queue in draw(st.sets(st.sampled_from(["hints", "webhooks"])))
    }
    made["workers"]["bots"] = draw(WORKER) | {"enabled": True, "replicas": 3}
    for scaled, low in (
        (made.get("api", {}).get("autoscaling", {}), 2),
        *((each, 0) for each in made["workers"].values()),
    ):
        if "minReplicas" in scaled or "maxReplicas" in scaled:
            ends = (scaled.get("minReplicas", low), scaled.get("maxReplicas", 10))
            scaled["minReplicas"], scaled["maxReplicas"] = max(min(ends), 1), max(ends)
    if not made.get("serviceAccount", {}).get("create", True):
        made["serviceAccount"]["name"] = "account"
    hosts = SCHEMA["properties"]["ingress"]["properties"]["hosts"] | {"minItems": 1}
    made["ingress"] = {"enabled": draw(st.booleans()), "hosts": draw(from_schema(hosts))}
    return made


@settings(
    max_examples=50,
    deadline=None,
    # The same values each time: what is found here is not to stop a change of something else. No
    # shrinking, which would call helm a thousand times.
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(values=all_values())
def test_whatever_the_schema_lets_pass_makes_valid_manifests(values):
    """Nothing unquoted, no wrong indent, no number as 6e+05; the settings arrive as given."""
    manifests = charts.template(next(HELM), values)

    newest = charts.kubernetes_versions()[-1]
    assert [] == [fault for each in manifests for fault in charts.faults(each, newest)]
    read = settings_of(manifests)
    for name, value in values.get("config", {}).items():
        found = getattr(read, name)
        assert value == (list(found) if isinstance(found, tuple) else found), name


def settings_of(manifests):
    """Return the settings that a worker for the bots would read."""
    (spec,) = [
        each["spec"]["template"]["spec"]
        for each in of_kind(manifests, "Deployment")
        if each["metadata"]["name"].endswith("-bots")
    ]
    (container,) = spec["containers"]
    name = container["envFrom"][0]["configMapRef"]["name"]
    (config,) = [
        each for each in of_kind(manifests, "ConfigMap") if each["metadata"]["name"] == name
    ]
    env = dict(config["data"])
    for variable in container["env"]:
        text = variable.get("value", "password")
        # As the kubelet does it.
        for known, value in env.items():
            text = text.replace(f"$({known})", value)
        env[variable["name"]] = text
    return Settings.from_env(env)


def test_the_redis_urls_arrive_with_their_passwords():
    """User, password, host, port, number and the authority's certificate."""
    read = settings_of(charts.template("helm3", PRODUCTION))

    ca = "?ssl_ca_certs=/etc/redis-ca/ca.crt"
    assert f"rediss://rummy:password@games.redis.example.org:6380/0{ca}" == read.redis_url
    assert f"rediss://rummy:password@queues.redis.example.org:6380/1{ca}" == read.queue_redis_url


def test_the_sentinels_arrive_with_the_redis_password():
    """All hosts with their port, what they call the master, its number, user and password."""
    read = settings_of(
        charts.template("helm3", charts.values_of(CHART / "ci/sentinel-values.yaml"))
    )

    assert SentinelUrl(
        tuple((f"sentinel-{number}.redis.data.svc", 26379) for number in range(3)),
        "rummy",
        0,
        False,
        "rummy",
        "password",
        {},
    ) == SentinelUrl.parse(read.redis_url)
    assert read.redis_url == read.queue_redis_url
    assert 1 == read.wait_replicas


def test_sentinels_are_reached_and_asked_over_tls_where_wanted():
    """By the network policy on their port and the master's; by KEDA too."""
    values = charts.values_of(CHART / "ci/sentinel-values.yaml")
    values = put(values, "redis.state.sentinel.tls", True)
    values = put(values, "redis.caSecret.name", "ca")
    manifests = charts.template("helm4", values)

    read = settings_of(manifests)
    assert read.redis_url.startswith("rediss+sentinel://")
    assert read.redis_url.endswith("/rummy/0?ssl_ca_certs=/etc/redis-ca/ca.crt")
    (policy,) = [
        each
        for each in of_kind(manifests, "NetworkPolicy")
        if each["metadata"]["name"].endswith("-to-redis")
    ]
    ports = {each["port"] for rule in policy["spec"]["egress"] for each in rule["ports"]}
    assert {6379, 26379} == ports
    for scaled in of_kind(manifests, "ScaledObject"):
        for trigger in scaled["spec"]["triggers"]:
            assert "redis-sentinel" == trigger["type"]
            assert "rummy" == trigger["metadata"]["sentinelMaster"]
            assert 3 == len(trigger["metadata"]["addresses"].split(","))


def test_a_cluster_arrives_for_the_games_and_sentinels_with_their_password_for_the_queues():
    """The nodes and their port; user and password of Redis and of the Sentinels, each its own."""
    manifests = charts.template("helm4", charts.values_of(CHART / "ci/cluster-values.yaml"))

    read = settings_of(manifests)

    own = {
        "ssl_ca_certs": "/etc/redis-ca/ca.crt",
        "ssl_certfile": "/etc/redis-client/tls.crt",
        "ssl_keyfile": "/etc/redis-client/tls.key",
    }
    nodes = tuple((f"games-{number}.redis.data.svc", 6379) for number in range(3))
    assert ClusterUrl(nodes, True, "rummy", "password", own) == ClusterUrl.parse(read.redis_url)
    queue = SentinelUrl.parse(read.queue_redis_url)
    assert queue is not None
    login = {"sentinel_username": "watcher", "sentinel_password": "password"}
    assert (True, login | own) == (queue.is_tls, queue.options)
    assert ("queues", "", "password") == (queue.service, queue.username, queue.password)
    secrets = {
        each["name"]: each["valueFrom"]["secretKeyRef"]["key"]
        for deployment in of_kind(manifests, "Deployment")
        for each in deployment["spec"]["template"]["spec"]["containers"][0]["env"]
        if "valueFrom" in each
    }
    assert {
        "REDIS_URL_PASSWORD": "games",
        "QUEUE_REDIS_URL_PASSWORD": "queues",
        "QUEUE_REDIS_URL_SENTINEL_PASSWORD": "sentinels",
    } == {name: key for name, key in secrets.items() if "REDIS" in name}
    (authentication,) = of_kind(manifests, "TriggerAuthentication")
    assert ["password", "sentinelPassword", "ca", "cert", "key"] == [
        each["parameter"] for each in authentication["spec"]["secretTargetRef"]
    ]
    assert ["sentinelUsername", "tls"] == [
        each["parameter"] for each in authentication["spec"]["env"]
    ]


def test_a_certificate_of_ours_is_where_the_url_says():
    """Mounted by the names that the URL has, readable by the pod's user alone; not over no TLS."""
    values = charts.values_of(CHART / "ci/cluster-values.yaml")
    values = put(values, "redis.clientSecret.certificateKey", "client.pem")

    for name, spec in pod_specs(charts.template("helm4", values)).items():
        (container,) = spec["containers"]
        if container["name"] not in ("api", "worker"):
            continue
        (secret,) = [each["secret"] for each in spec["volumes"] if each["name"] == "redis-client"]
        (mount,) = [each for each in container["volumeMounts"] if each["name"] == "redis-client"]
        assert {"client.pem": "tls.crt", "tls.key": "tls.key"} == {
            each["key"]: each["path"] for each in secret["items"]
        }, name
        assert ("/etc/redis-client", 0o440) == (mount["mountPath"], secret["defaultMode"])
    plain = put(put(values, "redis.state.cluster.tls", False), "redis.queue.sentinel.tls", False)
    manifests = charts.template("helm3", plain)
    assert "ssl_" not in settings_of(manifests).redis_url
    assert {"password", "sentinelPassword"} == {
        each["parameter"]
        for authentication in of_kind(manifests, "TriggerAuthentication")
        for each in authentication["spec"]["secretTargetRef"]
    }


def test_the_queues_are_where_the_games_are_unless_said_otherwise():
    """As the code has it."""
    values = copy.deepcopy(PRODUCTION)
    del values["redis"]["queue"]

    read = settings_of(charts.template("helm4", values))

    assert read.redis_url == read.queue_redis_url


def test_a_worker_says_otherwise_than_all_workers():
    """Each one's values lie over the defaults."""
    values = put(MINIMAL, "workerDefaults.resources", {
        "requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"cpu": "2", "memory": "1Gi"}
    })  # fmt: skip
    values = put(values, "workers.hints.resources.limits", {"cpu": "3", "memory": "2Gi"})

    specs = pod_specs(charts.template("helm4", values))

    limits = {
        name: specs[f"rummy-persian-rummy-{name}"]["containers"][0]["resources"]["limits"]["cpu"]
        for name in ("bots", "hints")
    }
    assert {"bots": "2", "hints": "3"} == limits
