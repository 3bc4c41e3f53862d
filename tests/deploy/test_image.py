"""The Dockerfile, read: what can be held to it without building (`make image-check` builds it)."""

from __future__ import annotations

import ast
import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from pygments.lexers import get_lexer_by_name

from tests.deploy import tools
from tests.deploy.charts import CHART, ROOT

TEXT = (ROOT / "Dockerfile").read_text()
ONLY_FOR_SHOW = {"workers/arena_shows.py"}
"""Modules that no role of the image imports; they may use parts that it lacks."""


def instructions(text):
    """Return (word, rest) of each instruction, its lines joined, without comments."""
    bare = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    joined = re.sub(r"\\\n\s*", " ", bare)
    return [tuple(line.split(maxsplit=1)) for line in joined.splitlines() if line.strip()]


def stages():
    """Return the instructions of each stage."""
    found = []
    for word, rest in instructions(TEXT):
        if word == "FROM":
            found.append([])
        if found:
            found[-1].append((word, rest))
    return found


def only(stage, word):
    """Return the rest of the one instruction with that word."""
    (rest,) = [rest for each, rest in stage if each == word]
    return rest


def test_hadolint_finds_nothing():
    """Its default rules; what is ignored says why in the file."""
    done = subprocess.run(
        [tools.find("hadolint"), "--no-color", ROOT / "Dockerfile"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert "" == done.stdout + done.stderr


def test_the_image_is_copied_from_stages_that_stay_behind():
    """Parts and system are made apart; the last stage begins empty and runs nothing."""
    build, system, final = stages()

    assert only(build, "FROM").endswith(" AS build")
    assert only(system, "FROM").endswith(" AS system")
    assert "scratch" == only(final, "FROM")
    assert not any(word == "RUN" for word, _ in final)
    copies = [rest.partition(" ")[0] for word, rest in final if word == "COPY"]
    assert ["--from=system", *["--from=build"] * 3] == copies
    installed = " ".join(rest for word, rest in system if word == "RUN")
    assert re.search(
        r"install --yes --no-install-recommends ca-certificates python3 tini +&&", installed
    )
    assert "pip" not in installed


def test_the_system_is_left_without_what_changes_it():
    """No installer, nothing that runs as root whoever starts it; but what Python's TLS looks up."""
    (removal,) = [rest for word, rest in stages()[1] if word == "RUN" and "--purge" in rest]
    removed = set(removal.partition("&& rm")[0].split())

    assert {"apt", "login", "mount", "passwd", "perl-base", "util-linux"} <= removed
    assert not {"ca-certificates", "openssl", "libffi8", "libssl3", "libstdc++6"} & removed
    assert "/usr/bin/dpkg*" in removal


def test_the_parts_are_a_layer_of_their_own():
    """Installed before the code is there, so a change of the code installs nothing."""
    build, _, final = stages()
    words = [f"{word} {rest}" for word, rest in build]
    (install,) = [at for at, text in enumerate(words) if "--requirement /build/runtime.txt" in text]
    (code,) = [at for at, text in enumerate(words) if text.startswith("COPY service ")]

    assert install < code
    copies = [rest.split()[1] for word, rest in final if word == "COPY"]
    assert ["/", "/opt/venv", "/opt/kernels", "/opt/persian-rummy"] == copies


def test_parts_are_pinned_hashed_and_of_the_service_only():
    """The first two sections of constraints.txt, wheels only, no resolver, no cache left behind."""
    (install,) = [rest for word, rest in stages()[0] if word == "RUN" and "runtime.txt" in rest]
    installs = install.split("pip ")[1:]

    assert "sed '/^# ---- development/,$d'" in install
    assert 2 == install.count("--require-hashes")
    assert 2 == install.count("--no-deps")
    assert 2 == install.count("--no-cache-dir")
    assert "--only-binary :all:" in installs[-1]
    assert "# ---- development" in (ROOT / "constraints.txt").read_text()


def left_out():
    """Return the parts that the image does without."""
    (names,) = re.findall(r"keep = !/\^\(([a-z|-]+)\)==/", TEXT)
    return set(names.split("|"))


def imported_by(path):
    """Return the top-level names that a module imports, wherever it does."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {each.name.partition(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names


def test_nothing_imports_a_part_that_was_left_out():
    """But what no role of the image runs."""
    forbidden = {name.replace("-", "_") for name in left_out()}
    sources = [*ROOT.glob("service/**/*.py"), *ROOT.glob("workers/**/*.py")]

    found = {
        path.relative_to(ROOT).as_posix(): sorted(imported_by(path) & forbidden)
        for path in sources
        if imported_by(path) & forbidden
    }

    assert found.keys() <= ONLY_FOR_SHOW, found


def test_guides_are_coloured_by_what_the_image_keeps():
    """Of Pygments' languages it has the shell, JSON and Python."""
    (install,) = [rest for word, rest in stages()[0] if word == "RUN" and "pygments" in rest]
    guides = "".join(path.read_text() for path in ROOT.glob("service/web/guides/*.md"))

    kept = {"pygments.lexers." + name for name in re.findall(r"! -name ([a-z]+)\.py", install)}
    languages = set(re.findall(r"(?m)^```([a-z]+)$", guides))
    assert {"sh", "json"} <= languages
    assert {type(get_lexer_by_name(name)).__module__ for name in languages} <= kept


def test_what_is_left_out_is_a_part_of_the_service():
    """A name that is no more in constraints.txt is to go from the Dockerfile too."""
    runtime = (ROOT / "constraints.txt").read_text().partition("# ---- development")[0]
    pinned = {
        canonicalize_name(Requirement(line.rstrip(" \\")).name)
        for line in re.findall(r"(?m)^[a-z0-9].*$", runtime)
    }

    assert left_out() <= pinned


def test_the_image_runs_as_nobody_special():
    """A number, so that Kubernetes can tell that it is not root; the chart says the same one."""
    final = stages()[-1]

    assert "10001:10001" == only(final, "USER")
    helpers = (CHART / "templates" / "_helpers.tpl").read_text()
    assert {"10001"} == set(re.findall(r"default (\d+) \.", helpers))
    assert "sudo" not in TEXT


def test_an_init_is_the_first_process():
    """Python would neither pass signals on nor bury children."""
    final = stages()[-1]

    assert ["/usr/bin/tini", "--"] == json.loads(only(final, "ENTRYPOINT"))
    assert "SIGTERM" == only(final, "STOPSIGNAL")
    assert "gunicorn" == json.loads(only(final, "CMD"))[0]


def test_the_health_check_asks_the_api():
    """In the form that needs no shell."""
    text = only(stages()[-1], "HEALTHCHECK")
    command = json.loads(text[text.index("CMD ") + 4 :])

    assert ["python", "-c"] == command[:2]
    compile(command[2], "HEALTHCHECK", "exec")
    assert "http://127.0.0.1:8000/healthz" in command[2]


def test_the_kernels_are_looked_for_where_they_were_made():
    """And for the same processor: numba has both in its keys."""
    build, _, final = stages()
    (warm,) = [rest for word, rest in build if word == "RUN" and "workers warm" in rest]
    variables = dict(
        each.split("=", 1) for word, rest in final if word == "ENV" for each in shlex.split(rest)
    )
    made = dict(
        each.split("=", 1) for word, rest in build if word == "ENV" for each in shlex.split(rest)
    )

    assert f"PERSIAN_RUMMY_NUMBA_CACHE_DIR={variables['PERSIAN_RUMMY_NUMBA_CACHE_DIR']} " in warm
    assert made.items() <= variables.items()
    assert {"NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"} == made.keys()
    defaults = re.findall(r"(?m)^ARG (NUMBA_CPU_NAME=.*)$", TEXT)
    assert 2 == len(defaults)
    assert defaults[0] == defaults[1]


def test_labels_tell_what_the_image_is():
    """By the names of the Open Container Initiative; the version is the service's."""
    from service import __version__

    final = stages()[-1]
    labels = dict(each.split("=", 1) for each in shlex.split(only(final, "LABEL")))
    prefix = "org.opencontainers.image."

    wanted = ("title", "description", "licenses", "version", "revision", "created")
    assert {prefix + name for name in wanted} == labels.keys()
    assert f"ARG VERSION={__version__}\n" in TEXT


def test_no_image_moves_and_nothing_is_fetched_by_hand():
    """Packages come from package archives only."""
    for word, rest in instructions(TEXT):
        assert word != "ADD"
        assert not re.search(r"\b(curl|wget|git clone)\b", rest)
    (base,) = re.findall(r"(?m)^ARG DEBIAN=(.*)$", TEXT)
    assert re.search(r":[a-z0-9.-]+$", base)
    assert not base.endswith(":latest")


def test_only_what_is_copied_gets_into_the_build():
    """Everything is shut out, then what the Dockerfile copies is let in."""
    lines = [
        line
        for line in (ROOT / ".dockerignore").read_text().splitlines()
        if line and not line.startswith("#")
    ]
    copied = {
        source for word, rest in stages()[0] if word == "COPY" for source in rest.split()[:-1]
    }

    assert "*" == lines[0]
    assert copied == {line[1:] for line in lines if line.startswith("!")}
    for source in copied:
        assert (ROOT / source).exists()


@pytest.mark.parametrize("file", ["Dockerfile", ".dockerignore", "helm", "tests/deploy"])
def test_no_file_tells_where_it_was_written(file):
    """No path of a machine, no secret's beginning."""
    path = ROOT / file
    files = [each for each in path.rglob("*") if each.is_file()] if path.is_dir() else [path]

    for each in files:
        if "schemas" in each.parts or each.suffix == ".pyc" or each == Path(__file__).resolve():
            continue
        assert not re.search(
            r"/(home|root|work)/|prk_[A-Za-z0-9]|prs_[A-Za-z0-9]", each.read_text()
        ), each


def test_the_dashboard_and_the_values_are_well_formed():
    """Read as their readers do."""
    board = json.loads((CHART / "files" / "dashboard.json").read_text())
    ids = [panel["id"] for panel in board["panels"]]

    assert sorted(set(ids)) == ids
    assert all(panel["targets"] and panel["description"] for panel in board["panels"])
    assert yaml.safe_load((CHART / "values.yaml").read_text())
