"""The chart under both helms, on every Kubernetes, against the schemas of all its kinds."""

from __future__ import annotations

import pytest
import yaml

from service import __version__
from tests.deploy import charts
from tests.deploy.charts import CHART, CI_FILES, HELMS

CI_NAMES = [file.name for file in CI_FILES]


@pytest.mark.parametrize("helm", HELMS)
@pytest.mark.parametrize("file", CI_FILES, ids=CI_NAMES)
def test_lint_finds_nothing(helm, file):
    """Strict: warnings are failures."""
    told = charts.run_helm(helm, "lint", str(CHART), "--strict", values=charts.values_of(file))

    assert "[WARNING]" not in told
    assert "[ERROR]" not in told


@pytest.mark.parametrize("file", CI_FILES, ids=CI_NAMES)
def test_both_helms_render_the_same(file):
    """On the oldest and on the newest Kubernetes too."""
    versions = charts.kubernetes_versions()
    values = charts.values_of(file)

    made = [
        charts.template(helm, values, version)
        for helm in HELMS
        for version in (versions[0], versions[-1])
    ]

    assert all(each == made[0] for each in made)


@pytest.mark.parametrize("name", CI_NAMES)
def test_everything_is_valid_on_every_kubernetes(name):
    """Strict: no unknown field; KEDA's and Prometheus's kinds by their own schemas."""
    versions = charts.kubernetes_versions()
    manifests = charts.rendered(name)

    found = [
        f"{version}: {fault}"
        for version in versions
        for manifest in manifests
        for fault in charts.faults(manifest, version)
    ]

    assert len(versions) >= 8
    assert [] == found


def test_the_strict_schemas_notice_a_wrong_field():
    """Else the test above would pass for nothing."""
    manifests = charts.rendered("production-values.yaml")
    newest = charts.kubernetes_versions()[-1]

    for kind in ("Deployment", "ScaledObject", "ServiceMonitor", "PrometheusRule", "NetworkPolicy"):
        (manifest, *_) = charts.of_kind(manifests, kind)
        manifest["spec"]["noSuchField"] = 1
        assert charts.faults(manifest, newest), kind


def test_no_custom_kind_where_its_operator_is_off():
    """A cluster without KEDA and Prometheus' operator refuses their kinds."""
    for name in ("minimal-values.yaml", "no-keda-values.yaml"):
        assert all(
            each["apiVersion"].split("/")[0].endswith((".k8s.io", "v1", "apps", "policy"))
            or each["apiVersion"].startswith("autoscaling/")
            for each in charts.rendered(name)
        )


def test_who_installs_is_told_what_to_do_next():
    """Where the table is, how to make a key where one is needed, what to try."""
    told = {
        name: charts.run_helm(
            "helm4", "install", "rummy", str(CHART), "--dry-run=client", "--namespace", "games",
            values=charts.values_of(CHART / "ci" / name),
        ).partition("\nNOTES:\n")[2]
        for name in CI_NAMES
    }  # fmt: skip

    assert "keys create" not in told["minimal-values.yaml"]
    assert "everything is lost" in told["minimal-values.yaml"]
    assert "port-forward service/rummy-persian-rummy 8000:80" in told["minimal-values.yaml"]
    assert "https://rummy.example.org/" in told["production-values.yaml"]
    for name in CI_NAMES:
        assert "kubectl -n games rollout status deployment/rummy-persian-rummy-api" in told[name]
        assert "helm test rummy -n games" in told[name]
        if name != "minimal-values.yaml":
            assert "exec deployment/rummy-persian-rummy-api -- python -m service" in told[name]


def test_names_are_used_once():
    """Two manifests of one kind and name would overwrite each other."""
    for name in CI_NAMES:
        names = [(each["kind"], each["metadata"]["name"]) for each in charts.rendered(name)]

        assert sorted(set(names)) == sorted(names)


def test_everything_carries_the_common_labels():
    """By which a release is found, and taken down."""
    for name in CI_NAMES:
        for each in charts.rendered(name):
            labels = each["metadata"]["labels"]
            assert {
                "app.kubernetes.io/name",
                "app.kubernetes.io/instance",
                "app.kubernetes.io/version",
                "app.kubernetes.io/managed-by",
                "helm.sh/chart",
            } <= labels.keys()


def test_the_chart_is_of_this_version_of_the_service():
    """The image's tag comes from here."""
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())

    assert __version__ == chart["appVersion"]


def test_a_long_release_name_leaves_names_short_enough():
    """63 characters is the most for a service and for the value of a label."""
    values = charts.values_of(CHART / "ci" / "production-values.yaml")
    values["fullnameOverride"] = "a" * 40

    for each in charts.template("helm4", values):
        assert len(each["metadata"]["name"]) <= 63
