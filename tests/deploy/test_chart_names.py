"""Names that the chart and the code share: each side is held to the other."""

from __future__ import annotations

import dataclasses
import json
import re
import shlex

import pytest
import yaml

from service.api.figures import FiguresCollector
from service.app import create_app
from service.config import Settings, variable_of
from service.store.connecting import connect
from service.store.figures import Figures
from service.store.memory import MemoryStore
from tests.deploy import charts
from tests.deploy.charts import CHART, CI_FILES, ROOT, of_kind, pod_specs
from workers.main import QUEUES

NAMES = [file.name for file in CI_FILES]
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
README = (CHART / "README.md").read_text()
OWN_PLACE = {"redis_url", "queue_redis_url", "otlp_endpoint", "numba_cache_dir"}
"""Settings that are not in `config`: the URLs come from `redis` and `tracing`, the folder is the
image's."""
OTHERS_ENV = {
    "WEB_CONCURRENCY",
    *("OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG", "OTEL_EXPORTER_OTLP_HEADERS"),
}
"""What gunicorn and OpenTelemetry read."""
OTHERS_METRICS = {
    "up": "Prometheus",
    "keda_scaler_metrics_value": "KEDA",
    "kube_deployment_status_replicas_available": "kube-state-metrics",
    "kube_deployment_spec_replicas": "kube-state-metrics",
}


def dockerfile_command():
    """Return the image's command."""
    (line,) = re.findall(r"(?m)^CMD (\[.*\])$", (ROOT / "Dockerfile").read_text())
    return json.loads(line)


def test_the_chart_knows_every_setting_and_no_other():
    """A new field of Settings wants a place in values.yaml's `config` and in its schema."""
    fields = {field.name for field in dataclasses.fields(Settings)} - OWN_PLACE

    assert fields == VALUES["config"].keys()
    assert fields == SCHEMA["properties"]["config"]["properties"].keys()


def test_the_charts_defaults_are_the_codes():
    """But one: in a cluster callers need a key."""
    defaults = dataclasses.asdict(Settings()) | {"auth": "required"}

    for name, value in VALUES["config"].items():
        wanted = defaults[name]
        assert (list(wanted) if isinstance(wanted, tuple) else wanted) == value, name


def test_the_variables_are_those_that_the_code_reads():
    """For every setting; nothing that the code would not read is set."""
    read = {variable_of(field.name) for field in dataclasses.fields(Settings)}

    for name in NAMES:
        manifests = charts.rendered(name)
        (settings,) = [
            each
            for each in of_kind(manifests, "ConfigMap")
            if each["metadata"]["name"] == "rummy-persian-rummy"
        ]
        assert settings["data"].keys() <= read
        for spec in pod_specs(manifests).values():
            (container,) = spec["containers"]
            if container["name"] in ("api", "worker"):
                names = {each["name"] for each in container["env"]}
                own = {each for each in names if not each.endswith("_PASSWORD")}
                assert {each for each in own if not each.startswith("KEDA_")} <= read | OTHERS_ENV
                assert {"REDIS_URL", "QUEUE_REDIS_URL"} <= own


@pytest.mark.parametrize("name", sorted(SCHEMA["properties"]["config"]["properties"]))
def test_the_schema_allows_what_the_code_allows(name):
    """The ends of each range are read; what lies beyond them is refused by both."""
    schema = SCHEMA["properties"]["config"]["properties"][name]
    variable = variable_of(name)

    if "enum" in schema:
        for value in schema["enum"]:
            assert value == getattr(Settings.from_env({variable: value}), name)
        with pytest.raises(ValueError, match="allowed"):
            Settings.from_env({variable: "no-such-word"})
    elif "minimum" in schema:
        for value in (schema["minimum"], schema["maximum"]):
            assert value == getattr(Settings.from_env({variable: str(value)}), name)
        step = 1 if schema["type"] == "integer" else 0.01
        for value in (schema["minimum"] - step, schema["maximum"] + step):
            with pytest.raises(ValueError, match="allowed"):
                Settings.from_env({variable: str(value)})
    else:
        assert "cors_origins" == name


def test_a_deployment_works_on_each_queue_of_the_code():
    """And values.yaml has on exactly these: a new queue is turned on there."""
    enabled = {queue for queue, worker in VALUES["workers"].items() if worker["enabled"]}

    assert set(QUEUES) == enabled
    for name in NAMES:
        worked_on = [
            spec["containers"][0]["args"][-1]
            for spec in pod_specs(charts.rendered(name)).values()
            if spec["containers"][0]["name"] == "worker"
        ]
        assert sorted(QUEUES) == sorted(worked_on)


def test_a_worker_is_started_by_the_codes_own_command():
    """`python -m workers work QUEUE`, as `make run` does."""
    from service.cli import run

    (option,) = [each for each in run.params if each.name == "worker"]
    own = shlex.split(str(option.default))[1:]

    for spec in pod_specs(charts.rendered("minimal-values.yaml")).values():
        (container,) = spec["containers"]
        if container["name"] == "worker":
            assert ["python", *own] == container["args"][:-1]


def test_the_api_is_started_as_the_image_starts_it():
    """Apart from how long open requests get to end."""
    container = pod_specs(charts.rendered("minimal-values.yaml"))["rummy-persian-rummy-api"][
        "containers"
    ][0]
    arguments = list(container["args"])
    at = arguments.index("--graceful-timeout")
    del arguments[at : at + 2]

    assert dockerfile_command() == arguments


@pytest.mark.parametrize("name", ["no-keda-values.yaml", "production-values.yaml"])
def test_the_port_is_one_everywhere(name):
    """The container's, the service's, the probes', the image's. `/metrics` may have another."""
    manifests = charts.rendered(name)
    (container,) = pod_specs(manifests)["rummy-persian-rummy-api"]["containers"]
    (service,) = of_kind(manifests, "Service")
    port, *metrics_ports = container["ports"]

    assert f"0.0.0.0:{port['containerPort']}" in container["args"]
    assert f"EXPOSE {port['containerPort']}\n" in (ROOT / "Dockerfile").read_text()
    assert port["name"] == service["spec"]["ports"][0]["targetPort"]
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert port["name"] == container[probe]["httpGet"]["port"]
    name = service["spec"]["ports"][0]["name"]
    for ingress in of_kind(manifests, "Ingress"):
        (path,) = ingress["spec"]["rules"][0]["http"]["paths"]
        assert {"name": service["metadata"]["name"], "port": {"name": name}} == path["backend"][
            "service"
        ]
    labels = service["metadata"]["labels"].items()
    for monitor in of_kind(manifests, "ServiceMonitor"):
        asked = service["spec"]["ports"][-1]
        assert asked["name"] == monitor["spec"]["endpoints"][0]["port"]
        assert monitor["spec"]["selector"]["matchLabels"].items() <= labels
    assert [each["name"] for each in metrics_ports] == [
        each["targetPort"] for each in service["spec"]["ports"][1:]
    ]


def test_the_metrics_port_is_prometheus_alone():
    """With one, an ingress and the callers that the policy names do not reach it."""
    manifests = charts.rendered("production-values.yaml")
    (container,) = pod_specs(manifests)["rummy-persian-rummy-api"]["containers"]
    (settings,) = [
        each["data"]
        for each in of_kind(manifests, "ConfigMap")
        if variable_of("metrics_port") in each["data"]
    ]
    (policy,) = [
        each
        for each in of_kind(manifests, "NetworkPolicy")
        if each["metadata"]["name"] == "rummy-persian-rummy-api"
    ]
    http, metrics = policy["spec"]["ingress"]

    port = {each["name"]: each["containerPort"] for each in container["ports"]}["metrics"]
    assert str(port) == settings[variable_of("metrics_port")]
    assert [{"port": "metrics", "protocol": "TCP"}] == metrics["ports"]
    assert VALUES["networkPolicy"]["metricsFrom"] == metrics["from"]
    assert [each for each in metrics["from"] if each in http["from"]] == []


def served_routes():
    """Return the paths of the app's routes."""
    app = create_app(Settings(), store=MemoryStore())
    return {rule.rule for rule in app.url_map.iter_rules()}


def test_probes_and_prometheus_ask_what_the_api_serves():
    """Paths of real routes."""
    manifests = charts.rendered("production-values.yaml")
    (container,) = pod_specs(manifests)["rummy-persian-rummy-api"]["containers"]
    (monitor,) = of_kind(manifests, "ServiceMonitor")
    routes = served_routes()

    assert "/healthz" == container["livenessProbe"]["httpGet"]["path"]
    assert "/readyz" == container["readinessProbe"]["httpGet"]["path"]
    assert {"/healthz", "/readyz", monitor["spec"]["endpoints"][0]["path"]} <= routes


def test_keda_counts_waiting_and_running_jobs_of_each_queue():
    """By the keys that RQ uses; the address and number are those of the queues' Redis."""
    from rq import Queue
    from rq.registry import StartedJobRegistry

    manifests = charts.rendered("production-values.yaml")
    counted = {}
    for scaled in of_kind(manifests, "ScaledObject"):
        queue = scaled["metadata"]["name"].removeprefix("rummy-persian-rummy-")
        counted[queue] = {each["metadata"]["listName"] for each in scaled["spec"]["triggers"]}
        for trigger in scaled["spec"]["triggers"]:
            assert "queues.redis.example.org:6380" == trigger["metadata"]["address"]
            assert "1" == trigger["metadata"]["databaseIndex"]
            # An authority of our own is named, and TLS turned on, in the authentication.
            assert "false" == trigger["metadata"]["enableTLS"]
            assert "rummy-persian-rummy-queues" == trigger["authenticationRef"]["name"]

    assert {
        queue: {
            Queue.redis_queue_namespace_prefix + queue,
            StartedJobRegistry.key_template.format(queue),
        }
        for queue in QUEUES
    } == counted


def test_keda_gets_what_it_needs_to_reach_redis():
    """User and TLS by the workers' variables, password and authority by Secrets."""
    manifests = charts.rendered("production-values.yaml")
    (authentication,) = of_kind(manifests, "TriggerAuthentication")
    spec = authentication["spec"]

    assert {"password", "ca"} == {each["parameter"] for each in spec["secretTargetRef"]}
    assert {"username", "tls"} == {each["parameter"] for each in spec["env"]}
    for scaled in of_kind(manifests, "ScaledObject"):
        pod = pod_specs(manifests)[scaled["spec"]["scaleTargetRef"]["name"]]
        (container,) = pod["containers"]
        assert {each["containerName"] for each in spec["env"]} == {container["name"]}
        set_there = {each["name"] for each in container["env"]}
        assert {each["name"] for each in spec["env"]} <= set_there


def test_keda_uses_tls_without_an_authority_of_our_own():
    """Redis's certificate is then checked by the public ones."""
    values = charts.values_of(CHART / "ci" / "production-values.yaml")
    del values["redis"]["caSecret"]
    for use in ("state", "queue"):
        del values["redis"][use]["passwordSecret"], values["redis"][use]["username"]

    manifests = charts.template("helm4", values)

    assert [] == of_kind(manifests, "TriggerAuthentication")
    for scaled in of_kind(manifests, "ScaledObject"):
        for trigger in scaled["spec"]["triggers"]:
            assert "true" == trigger["metadata"]["enableTLS"]
            assert "authenticationRef" not in trigger


def exported_metrics():
    """Return the names of what the code exports, as Prometheus stores them."""
    app = create_app(Settings(), store=MemoryStore())
    registry = app.extensions["persian_rummy"].metrics.registry
    client = connect("redis://127.0.0.1:1/0", 0.1)
    of_redis = FiguresCollector(Figures(client, client)).describe()
    names = set()
    for metric in [*registry.collect(), *of_redis]:
        endings = {
            "counter": ("_total",),
            "histogram": ("_bucket", "_sum", "_count"),
        }
        names |= {metric.name + ending for ending in endings.get(metric.type, ("",))}
    return names


def names_in(expression):
    """Return the metrics in an expression of Prometheus."""
    bare = re.sub(r'"[^"]*"|\[[^]]*\]', "", expression)
    bare = re.sub(r"\{[^}]*\}", " ", bare)
    bare = re.sub(r"\b(by|without|on)\s*\([^)]*\)", " ", bare)
    words = set(re.findall(r"[a-z_:][a-z0-9_:]*(?!\w|\s*\()", bare))
    return {word for word in words if "_" in word or word == "up"}


def expressions():
    """Return every expression of the alerts and of the dashboard, with where it stands."""
    manifests = charts.rendered("production-values.yaml")
    (rules,) = of_kind(manifests, "PrometheusRule")
    found = [
        (rule["alert"], rule["expr"])
        for group in rules["spec"]["groups"]
        for rule in group["rules"]
    ]
    (board,) = [
        each
        for each in of_kind(manifests, "ConfigMap")
        if each["metadata"]["name"].endswith("-dashboard")
    ]
    (text,) = board["data"].values()
    for panel in json.loads(text)["panels"]:
        for target in panel["targets"]:
            found.append((panel["title"], target["expr"]))
    return found


def test_every_metric_that_is_asked_for_is_exported():
    """By the code, or by the named others."""
    known = exported_metrics() | OTHERS_METRICS.keys()
    asked = [(where, name) for where, text in expressions() for name in names_in(text)]

    assert [] == [(where, name) for where, name in asked if name not in known]
    assert len({name for _, name in asked if name.startswith("persian_rummy_")}) >= 3


def test_every_route_that_is_asked_for_is_served():
    """An expression with a route that is no more would be silent for ever."""
    from service.api.observing import shown_route

    shown = {shown_route(rule) for rule in served_routes()}
    routes = {
        route
        for _, text in expressions()
        for each in re.findall(r'route!?[=~]+"([^"]*)"', text)
        for route in each.split("|")
    }

    assert routes <= shown
    assert "/games/{game_id}/actions" in routes


def anchors(text):
    """Return the anchors of a document's headings."""
    return {
        re.sub(r"[^a-z0-9 -]", "", heading.lower()).strip().replace(" ", "-")
        for heading in re.findall(r"(?m)^#+ (.*)$", text)
    }


def test_every_alert_leads_to_a_section_of_the_runbook():
    """Who is woken reads there what to do."""
    (rules,) = of_kind(charts.rendered("production-values.yaml"), "PrometheusRule")
    alerts = [rule for group in rules["spec"]["groups"] for rule in group["rules"]]

    for alert in alerts:
        assert alert["annotations"]["summary"]
        assert alert["labels"]["severity"] in ("critical", "warning")
        assert alert["annotations"]["runbook_url"].partition("#")[2] in anchors(README)


def test_every_value_is_in_the_readme():
    """In its table, by its path."""

    def paths(values, prefix=""):
        for key, value in values.items():
            path = f"{prefix}{key}"
            deeper = isinstance(value, dict) and value and key not in ("resources", "labels")
            yield from paths(value, f"{path}.") if deeper else [path]

    told = set(re.findall(r"`([A-Za-z_.]+)`", README))

    def is_told(path):
        parts = path.split(".")
        return any(".".join(parts[:count]) in told for count in range(1, len(parts) + 1))

    assert [] == [path for path in paths(VALUES) if not is_told(path)]
