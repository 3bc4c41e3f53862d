"""The settings of gunicorn: what a deployment relies on."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from gunicorn.config import KNOWN_SETTINGS, Config

from service import gunicorn_conf
from tests.api.client import memory_app

SERVER = SimpleNamespace(cfg=Config())
"""gunicorn's arbiter, as far as the hooks look at it."""


def test_every_setting_is_one_that_gunicorn_knows():
    """A misspelt name would be ignored without a word."""
    known = {setting.name for setting in KNOWN_SETTINGS}
    ours = {
        name
        for name, value in vars(gunicorn_conf).items()
        if not name.startswith("_") and name.islower() and isinstance(value, int | str | None)
    }

    assert set() == ours - known
    assert {"worker_class", "control_socket_disable", "worker_tmp_dir"} <= ours


@pytest.mark.parametrize("host", ["0.0.0.0", "[::1]"])
def test_the_metrics_port_is_listened_on_beside_the_apis(monkeypatch, host):
    """On the same address, also where the command line gives that."""
    server = SimpleNamespace(cfg=Config())
    server.cfg.set("bind", [f"{host}:8000"])
    monkeypatch.delenv("PROMETHEUS_MULTIPROC_DIR", raising=False)
    monkeypatch.setenv("PERSIAN_RUMMY_METRICS_PORT", "9090")

    gunicorn_conf.on_starting(server)

    assert [(host.strip("[]"), 8000), (host.strip("[]"), 9090)] == server.cfg.address


def test_the_counters_of_the_last_run_are_removed(tmp_path, monkeypatch):
    """Each worker writes a file; those left over would be counted again."""
    folder = tmp_path / "metrics"
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(folder))
    gunicorn_conf.on_starting(SERVER)
    (folder / "counter_1.db").touch()
    (folder / "gauge_liveall_2.db").touch()

    gunicorn_conf.on_starting(SERVER)

    assert [] == list(folder.iterdir())


def test_a_worker_that_ended_takes_its_live_gauges_along(tmp_path, monkeypatch):
    """Its counters stay: what it counted has happened."""
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    for name in ("gauge_livesum_7.db", "counter_7.db"):
        (tmp_path / name).touch()

    gunicorn_conf.child_exit(None, SimpleNamespace(pid=7))

    assert ["counter_7.db"] == os.listdir(tmp_path)


def test_a_worker_that_is_told_to_stop_is_not_ready():
    """/readyz: 503 on the connections that are still open; /healthz stays 200."""
    app = memory_app()
    worker = SimpleNamespace(alive=True, wsgi=app)
    gunicorn_conf.post_worker_init(worker)
    client = app.test_client()
    assert 200 == client.get("/readyz").status_code

    worker.alive = False
    stopping = app.extensions["persian_rummy"].is_stopping
    assert stopping.wait(5)

    answer = client.get("/readyz")
    assert 503 == answer.status_code
    assert "Stopping." == answer.json["detail"]
    assert "ok" == answer.json["dependencies"]["store"]
    assert 200 == client.get("/healthz").status_code


def test_without_the_folder_there_is_nothing_to_do(monkeypatch):
    """The hooks are called in every deployment."""
    monkeypatch.delenv("PROMETHEUS_MULTIPROC_DIR", raising=False)

    gunicorn_conf.on_starting(SERVER)
    gunicorn_conf.child_exit(None, SimpleNamespace(pid=7))


def test_a_worker_sets_aside_what_lives_as_long_as_it_and_looks_for_requests_often():
    """In a process of its own: both hold for a whole process."""
    code = (
        "import gc, gevent; from service.gunicorn_conf import SWITCH_S, share_time; share_time(); "
        "assert gc.get_freeze_count() > 1000; assert gevent.getswitchinterval() == SWITCH_S"
    )

    subprocess.run([sys.executable, "-c", code], check=True)
