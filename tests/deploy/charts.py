"""The chart rendered by helm, and the schemas that what it renders is held against."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jsonschema_rs import Draft202012Validator, Registry

from tests.deploy import tools

ROOT = Path(__file__).resolve().parent.parent.parent
CHART = ROOT / "helm"
CI_FILES = sorted((CHART / "ci").glob("*-values.yaml"))
HELMS = ("helm3", "helm4")
OLDEST_KUBERNETES = (1, 30)
CUSTOM_KINDS = Path(__file__).resolve().parent / "schemas"
_FOLDER = "kubernetes_validate/kubernetes-json-schema"

Manifest = dict[str, Any]


class Refused(Exception):
    """Helm does not render these values; the message is helm's."""


def run_helm(helm: str, *arguments: str, values: Any = None) -> str:
    """Run helm and return what it prints; raises Refused. `values` are given as a file."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        if values is not None:
            # YAML that no reader can take for something else.
            json.dump(values, file)
            file.flush()
            arguments = (*arguments, "--values", file.name)
        done = subprocess.run(
            [tools.find(helm), *arguments], capture_output=True, text=True, check=False, timeout=60
        )
    if done.returncode:
        raise Refused(done.stderr + done.stdout)
    return done.stdout


def template(helm: str, values: Any, kubernetes: str = "") -> list[Manifest]:
    """Return what the chart makes of `values`."""
    version = ("--kube-version", kubernetes) if kubernetes else ()
    text = run_helm(helm, "template", "rummy", str(CHART), *version, values=values)
    return [each for each in yaml.load_all(text, Loader=yaml.CSafeLoader) if each]


def values_of(file: Path) -> Any:
    """Return the values in a file."""
    return yaml.safe_load(file.read_text())


@cache
def _rendered(name: str) -> str:
    return run_helm("helm4", "template", "rummy", str(CHART), values=values_of(CHART / "ci" / name))


def rendered(name: str) -> list[Manifest]:
    """Return a fresh copy of what the chart makes of a file in `ci`."""
    return [each for each in yaml.load_all(_rendered(name), Loader=yaml.CSafeLoader) if each]


def of_kind(manifests: list[Manifest], *kinds: str) -> list[Manifest]:
    """Return those of these kinds."""
    return [each for each in manifests if each["kind"] in kinds]


def pod_specs(manifests: list[Manifest]) -> dict[str, Manifest]:
    """Return the specification of each kind of pod, by the name of what makes it."""
    made = {
        each["metadata"]["name"]: each["spec"]["template"]["spec"]
        for each in of_kind(manifests, "Deployment", "StatefulSet", "Job")
    }
    return made | {each["metadata"]["name"]: each["spec"] for each in of_kind(manifests, "Pod")}


@cache
def _archive() -> zipfile.ZipFile:
    return zipfile.ZipFile(tools.find_schemas())


def kubernetes_versions() -> list[str]:
    """Return the versions with schemas, from the oldest that the chart supports on."""
    found = set(
        re.findall(rf"{_FOLDER}/v([0-9.]+)-local-strict/", "\n".join(_archive().namelist()))
    )
    known = sorted(tuple(map(int, version.split("."))) for version in found)
    return [".".join(map(str, each)) for each in known if each[:2] >= OLDEST_KUBERNETES]


@cache
def _definitions(version: str) -> Registry:
    content = json.loads(_archive().read(f"{_FOLDER}/v{version}-local-strict/_definitions.json"))
    # By this name the schemas of the kinds refer to it; they have no address of their own.
    return Registry([("json-schema:///_definitions.json", content)])


@cache
def _kubernetes_validator(version: str, api_version: str, kind: str) -> Draft202012Validator:
    group = re.sub(r"^([^./]*)(?:\.[^/]*)?/", r"\1-", api_version)
    name = f"{_FOLDER}/v{version}-local-strict/{kind.lower()}-{group}.json"
    try:
        schema = json.loads(_archive().read(name))
    except KeyError:
        raise AssertionError(f"Kubernetes {version} knows no {kind} of {api_version}") from None
    return Draft202012Validator(schema, registry=_definitions(version))


@cache
def _custom_validators() -> dict[tuple[str, str], Draft202012Validator]:
    found = {}
    for file in CUSTOM_KINDS.glob("*.yaml"):
        definition = yaml.load(file.read_text(), Loader=yaml.CSafeLoader)["spec"]
        for version in definition["versions"]:
            schema = strict(version["schema"]["openAPIV3Schema"])
            # Kubernetes adds what every object has.
            schema["properties"]["metadata"] = {"type": "object"}
            key = (f"{definition['group']}/{version['name']}", definition["names"]["kind"])
            found[key] = Draft202012Validator(schema)
    return found


def strict(schema: Any) -> Any:
    """Turn a schema of a custom kind into one for JSON that takes no unknown field."""
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("x-kubernetes-int-or-string"):
        return {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    turned = {key: strict(value) for key, value in schema.items() if not key.startswith("x-")}
    turned.pop("format", None)
    keeps = schema.get("x-kubernetes-preserve-unknown-fields")
    if isinstance(schema.get("properties"), dict) and "type" in schema and not keeps:
        turned.setdefault("additionalProperties", False)
    return turned


def faults(manifest: Manifest, version: str) -> list[str]:
    """Return what is wrong with a manifest, by the strict schema of its kind."""
    key = (manifest["apiVersion"], manifest["kind"])
    validator = _custom_validators().get(key) or _kubernetes_validator(version, *key)
    where = f"{manifest['kind']} {manifest['metadata']['name']}"
    return [
        f"{where} {'.'.join(map(str, each.instance_path))}: {each.message}"
        for each in validator.iter_errors(manifest)
    ]
