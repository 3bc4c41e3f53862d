"""The licences of all parts of the service, from what the installed parts say of themselves.

    python -m tests.security.licences > openapi/licenses.md

A part says it in one of three ways: an SPDX expression, classifiers, or words. The latter two are
written as SPDX has them; what `SPDX` does not know is shown as it is, and `test_licences.py`
refuses it until somebody has looked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, metadata, version
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
SPDX = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "BSD": "BSD-3-Clause",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "Zope Public License": "ZPL-2.1",
}
HEAD = """\
# Licences

What the parts of the service are licensed under, as they say themselves. Made by
`python -m tests.security.licences` from what is installed; a test holds it against
`constraints.txt` and refuses a licence that is not on its list.

The wheel of numpy brings OpenBLAS (BSD-3-Clause) and GCC's Fortran libraries with it: libgfortran
(GPL-3.0 with the runtime library exception) and libquadmath (LGPL-2.1). The image is made on
Debian, whose packages have licences of their own.

| part | version | licence |
|---|---|---|"""


def runtime_parts() -> Iterator[Requirement]:
    """Yield the pinned parts that the service needs, without the tests' tools."""
    text = (ROOT / "constraints.txt").read_text("utf-8")
    runtime = text.split("# ---- development", 1)[0]
    for line in re.findall(r"(?m)^[a-z0-9].*$", runtime):
        yield Requirement(line.rstrip(" \\"))


def licence_of(name: str) -> str:
    """Return the licence of an installed part; raises PackageNotFoundError."""
    told = metadata(name)
    if told.get("License-Expression"):
        return str(told["License-Expression"])
    classifiers = [
        text.rpartition(" :: ")[2]
        for text in told.get_all("Classifier", [])
        if text.startswith("License :: ") and text != "License :: OSI Approved"
    ]
    words = classifiers or [(told.get("License") or "unknown").split("\n")[0]]
    return " OR ".join(SPDX.get(word, word) for word in words)


def page() -> str:
    """Return `openapi/licenses.md`."""
    lines = [HEAD]
    for part in runtime_parts():
        if part.marker is None or part.marker.evaluate():
            try:
                lines.append(f"| {part.name} | {version(part.name)} | {licence_of(part.name)} |")
            except PackageNotFoundError:
                lines.append(f"| {part.name} | not installed | unknown |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(), end="")
