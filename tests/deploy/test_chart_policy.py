"""What a platform's admission would ask of every pod and object, asked here in plain Python."""

from __future__ import annotations

import ipaddress
import re

import pytest

from service.config import Settings
from tests.deploy import charts
from tests.deploy.charts import CI_FILES, of_kind, pod_specs

NAMES = [file.name for file in CI_FILES]


@pytest.fixture(params=NAMES)
def manifests(request):
    """Return what the chart makes of one file in `ci`."""
    return charts.rendered(request.param)


def containers(manifests):
    """Return every container with the name of its pod's maker."""
    return [
        (name, container)
        for name, spec in pod_specs(manifests).items()
        for container in spec.get("initContainers", []) + spec["containers"]
    ]


def test_every_pod_is_restricted(manifests):
    """The level `restricted` of the pod security standards."""
    for name, spec in pod_specs(manifests).items():
        security = spec["securityContext"]
        assert security["runAsNonRoot"] is True, name
        assert security["runAsUser"] > 0, name
        assert {"type": "RuntimeDefault"} == security["seccompProfile"], name
        for forbidden in ("hostNetwork", "hostPID", "hostIPC"):
            assert not spec.get(forbidden), name
        assert set() == {
            kind
            for volume in spec.get("volumes", [])
            for kind in volume
            if kind not in ("name", "emptyDir", "configMap", "secret")
        }, name
    for name, container in containers(manifests):
        security = container["securityContext"]
        assert security["allowPrivilegeEscalation"] is False, name
        assert security["privileged"] is False, name
        assert {"drop": ["ALL"]} == security["capabilities"], name
        assert not any("hostPort" in port for port in container.get("ports", [])), name


def test_no_root_file_system_is_written_to(manifests):
    """Only what is mounted can be."""
    for name, container in containers(manifests):
        assert container["securityContext"]["readOnlyRootFilesystem"] is True, name


def test_every_volume_in_memory_or_on_the_node_has_a_limit(manifests):
    """A pod that fills its node takes others down with it."""
    for name, spec in pod_specs(manifests).items():
        for volume in spec.get("volumes", []):
            if "emptyDir" in volume:
                assert volume["emptyDir"]["sizeLimit"], name


def test_every_container_asks_for_and_is_limited_in_what_it_uses(manifests):
    """Processor and memory."""
    for name, container in containers(manifests):
        for kind in ("requests", "limits"):
            assert {"cpu", "memory"} <= container["resources"][kind].keys(), name


def test_no_image_moves(manifests):
    """Every image has a tag that is not `latest`, or a digest."""
    for name, container in containers(manifests):
        image = container["image"]
        assert re.search(r"@sha256:[0-9a-f]{64}$|:[^/:@]+$", image), f"{name}: {image}"
        assert not image.endswith(":latest"), name


def test_every_lasting_container_has_all_probes(manifests):
    """Start, life, readiness."""
    for deployment in of_kind(manifests, "Deployment"):
        for container in deployment["spec"]["template"]["spec"]["containers"]:
            probes = {"startupProbe", "livenessProbe", "readinessProbe"}
            assert probes <= container.keys(), deployment["metadata"]["name"]


def test_nobody_gets_a_token_of_kubernetes(manifests):
    """Neither by its account nor by its pod."""
    for account in of_kind(manifests, "ServiceAccount"):
        assert account["automountServiceAccountToken"] is False
    for name, spec in pod_specs(manifests).items():
        assert spec["automountServiceAccountToken"] is False, name
        assert spec["serviceAccountName"] not in ("", "default"), name


def test_no_service_is_read_as_a_setting(manifests):
    """Kubernetes would set PERSIAN_RUMMY_PORT and the like for a service of that name."""
    for name, spec in pod_specs(manifests).items():
        assert spec["enableServiceLinks"] is False, name


def test_no_secret_is_written_in_plain(manifests):
    """Passwords and keys come from Secrets that are made elsewhere."""
    assert [] == of_kind(manifests, "Secret")
    for name, container in containers(manifests):
        for variable in container.get("env", []):
            if re.search("PASSWORD|KEY|TOKEN|SECRET", variable["name"]):
                assert "value" not in variable, f"{name}: {variable['name']}"
            elif "value" in variable:
                password = re.search(r"://[^/]*:([^/@]*)@", variable["value"])
                assert password is None or re.fullmatch(r"\$\([A-Z_]+\)", password[1]), name


def test_everything_is_denied_unless_allowed(manifests):
    """A policy without rules takes in every pod of the release."""
    (deny,) = [
        each
        for each in of_kind(manifests, "NetworkPolicy")
        if each["metadata"]["name"].endswith("-deny")
    ]

    assert ["Ingress", "Egress"] == deny["spec"]["policyTypes"]
    assert not {"ingress", "egress"} & deny["spec"].keys()
    wanted = deny["spec"]["podSelector"]["matchLabels"].items()
    makers = [each["spec"]["template"] for each in of_kind(manifests, "Deployment")]
    for pod in makers + of_kind(manifests, "Pod"):
        assert wanted <= pod["metadata"]["labels"].items()


def selects(policy, labels):
    """Tell whether a policy's selector takes in a pod with these labels."""
    selector = policy["spec"]["podSelector"]
    for rule in selector.get("matchExpressions", []):
        assert rule["operator"] == "NotIn"
        if labels.get(rule["key"]) in rule["values"]:
            return False
    return selector.get("matchLabels", {}).items() <= labels.items()


def test_api_and_workers_reach_redis_and_names_only(manifests):
    """The only other ways out are the webhooks', to public addresses, and the traces' to where
    they are collected, if they are.
    """
    policies = of_kind(manifests, "NetworkPolicy")
    for deployment in of_kind(manifests, "Deployment"):
        labels = deployment["spec"]["template"]["metadata"]["labels"]
        ways_out = {
            policy["metadata"]["name"].removeprefix("rummy-persian-rummy-")
            for policy in policies
            if selects(policy, labels) and policy["spec"].get("egress")
        }
        component = labels["app.kubernetes.io/component"]
        wanted = {"dns", "to-redis"}
        if component == "worker-webhooks":
            wanted |= {"webhooks"}
        container = deployment["spec"]["template"]["spec"]["containers"][0]
        if any(each["name"] == "OTEL_EXPORTER_OTLP_ENDPOINT" for each in container.get("env", [])):
            wanted |= {"traces"}
        assert (set() if component == "redis" else wanted) == ways_out, component


def test_nobody_reaches_the_workers(manifests):
    """They have no port."""
    for deployment in of_kind(manifests, "Deployment"):
        labels = deployment["spec"]["template"]["metadata"]["labels"]
        ways_in = [
            policy["metadata"]["name"]
            for policy in of_kind(manifests, "NetworkPolicy")
            if selects(policy, labels) and policy["spec"].get("ingress")
        ]
        has_port = "ports" in deployment["spec"]["template"]["spec"]["containers"][0]
        assert has_port == bool(ways_in), labels


def test_redis_is_reached_on_its_ports_only():
    """Also where its addresses are not told."""
    manifests = charts.rendered("production-values.yaml")
    (policy,) = [
        each
        for each in of_kind(manifests, "NetworkPolicy")
        if each["metadata"]["name"].endswith("-to-redis")
    ]

    assert [
        {
            "ports": [{"port": 6380, "protocol": "TCP"}],
            "to": [{"ipBlock": {"cidr": "10.20.0.0/24"}}],
        }
    ] == policy["spec"]["egress"]


def test_webhooks_never_go_to_an_address_inside():
    """Nor to the cloud's metadata, nor to this machine."""
    values = charts.values_of(charts.CHART / "ci" / "production-values.yaml")
    values["workers"]["webhooks"] = {"enabled": True}
    (policy,) = [
        each
        for each in of_kind(charts.template("helm4", values), "NetworkPolicy")
        if each["metadata"]["name"].endswith("-webhooks")
    ]
    blocks = [peer["ipBlock"] for peer in policy["spec"]["egress"][0]["to"]]

    def is_reached(address):
        ip = ipaddress.ip_address(address)
        return any(
            ip in ipaddress.ip_network(block["cidr"])
            and not any(ip in ipaddress.ip_network(each) for each in block["except"])
            for block in blocks
        )

    assert is_reached("93.184.215.14")
    assert is_reached("2606:4700::1111")
    inside = (
        "10.0.0.1 127.0.0.1 169.254.169.254 172.31.0.1 192.168.1.1 100.64.0.1 0.0.0.0 224.0.0.1"
    )
    for address in [
        *inside.split(),
        "::1",
        "fd00::1",
        "fe80::1",
        "fd00:ec2::254",
        "::ffff:10.0.0.1",
    ]:
        assert not is_reached(address), address


def test_pods_spread_over_zones_and_nodes(manifests):
    """One that falls takes as few as may be; the trial's Redis is one pod."""
    for deployment in of_kind(manifests, "Deployment"):
        spec = deployment["spec"]["template"]["spec"]
        if deployment["metadata"]["name"].endswith("-redis"):
            continue
        labels = deployment["spec"]["template"]["metadata"]["labels"]
        keys = {each["topologyKey"] for each in spec["topologySpreadConstraints"]}
        assert {"topology.kubernetes.io/zone", "kubernetes.io/hostname"} == keys
        for each in spec["topologySpreadConstraints"]:
            assert each["labelSelector"]["matchLabels"].items() <= labels.items()
            assert ["pod-template-hash"] == each["matchLabelKeys"]


def test_each_deployment_has_a_budget(manifests):
    """So that a drained node takes one pod of a kind at a time."""
    budgets = [
        each["spec"]["selector"]["matchLabels"]
        for each in of_kind(manifests, "PodDisruptionBudget")
    ]

    for deployment in of_kind(manifests, "Deployment"):
        labels = deployment["spec"]["template"]["metadata"]["labels"]
        matching = [each for each in budgets if each.items() <= labels.items()]
        wanted = 0 if deployment["metadata"]["name"].endswith("-redis") else 1
        assert wanted == len(matching), deployment["metadata"]["name"]


def test_a_worker_may_finish_the_longest_job(manifests):
    """A job is ended by its queue's timeout at the latest."""
    settings = Settings()

    for name, spec in pod_specs(manifests).items():
        (container,) = spec["containers"]
        if container["name"] == "worker":
            is_review = container["args"][-1] == "reviews"
            timeout_s = settings.review_timeout_s if is_review else settings.job_timeout_s
            assert spec["terminationGracePeriodSeconds"] > timeout_s, name


def test_the_grace_follows_the_longest_job():
    """Whoever allows longer jobs need not think of it."""
    values = charts.values_of(charts.CHART / "ci" / "minimal-values.yaml")
    values["config"] |= {"job_timeout_s": 900, "review_timeout_s": 7200}

    specs = pod_specs(charts.template("helm4", values))

    assert 930 == specs["rummy-persian-rummy-bots"]["terminationGracePeriodSeconds"]
    assert 7230 == specs["rummy-persian-rummy-reviews"]["terminationGracePeriodSeconds"]


def test_the_api_drains_before_it_ends(manifests):
    """First out of the service, then time for open streams, then the end."""
    spec = pod_specs(manifests)["rummy-persian-rummy-api"]
    (container,) = spec["containers"]
    (_, pause) = container["lifecycle"]["preStop"]["exec"]["command"]
    arguments = container["args"]
    graceful = int(arguments[arguments.index("--graceful-timeout") + 1])

    assert graceful > Settings().max_wait_s
    assert spec["terminationGracePeriodSeconds"] > int(pause) + graceful


def test_scaled_deployments_do_not_fix_their_number():
    """Else each upgrade would undo what the scaler had decided."""
    manifests = charts.rendered("production-values.yaml")
    scaled = {
        each["spec"]["scaleTargetRef"]["name"]
        for each in of_kind(manifests, "ScaledObject", "HorizontalPodAutoscaler")
    }

    for deployment in of_kind(manifests, "Deployment"):
        assert deployment["metadata"]["name"] in scaled
        assert "replicas" not in deployment["spec"]
