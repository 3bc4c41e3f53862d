"""`openapi/licenses.md`: all parts of the service, and no licence that nobody has looked at."""

from __future__ import annotations

import re

import pytest

from tests.security.licences import ROOT, licence_of, runtime_parts

ROWS = {
    name: (version, licence)
    for name, version, licence in re.findall(
        r"(?m)^\| ([a-z0-9-]+) \| (\d\S*) \| (.+) \|$",
        (ROOT / "openapi" / "licenses.md").read_text("utf-8"),
    )
}
ALLOWED = {
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "MIT",
    "MIT-0",
    # Of a file: what we ship of it is unchanged.
    "MPL-2.0",
    "PSF-2.0",
    "ZPL-2.1",
    "Zlib",
}
HERE = [part for part in runtime_parts() if part.marker is None or part.marker.evaluate()]


def test_the_page_has_each_part_in_its_pinned_version() -> None:
    pinned = {part.name: str(part.specifier).removeprefix("==") for part in HERE}

    assert pinned.keys() == ROWS.keys()
    assert pinned == {name: version for name, (version, _) in ROWS.items()}


@pytest.mark.parametrize("name", ROWS)
def test_each_licence_is_allowed_and_what_the_part_says(name: str) -> None:
    licence = ROWS[name][1]

    assert set(re.split(r" AND | OR |[()]", licence)) - {""} <= ALLOWED
    assert licence == licence_of(name)


def test_a_copyleft_licence_would_be_refused() -> None:
    """A check of the check."""
    assert not {"GPL-3.0-only", "AGPL-3.0-or-later", "LGPL-2.1-or-later", "unknown"} & ALLOWED
