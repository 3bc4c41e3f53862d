"""The scripts that the chart mounts: the workers' probe and the smoke test, run for real."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta

import pytest
from rq import Queue, Worker
from rq.utils import now, utcformat

from tests.deploy.charts import CHART, ROOT, of_kind, pod_specs, rendered

PROBE = CHART / "files" / "worker_probe.py"
SMOKE = CHART / "files" / "smoke.py"


def probe(question, url):
    """Ask the probe; return its exit code and what it says."""
    done = subprocess.run(
        [sys.executable, PROBE, question],
        env={**os.environ, "PYTHONPATH": str(ROOT), "QUEUE_REDIS_URL": url},
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    return done.returncode, done.stderr


@pytest.fixture
def worker(redis):
    """Return a worker of this host that has registered and does nothing."""
    registered = Worker([Queue("bots", connection=redis)], connection=redis)
    registered.register_birth()
    return registered


def test_a_worker_that_has_registered_is_ready_and_alive(worker, redis_url):
    """Its kernels are warm before it registers."""
    assert (0, "") == probe("ready", redis_url)
    assert (0, "") == probe("alive", redis_url)


def test_a_pod_without_a_worker_is_neither(redis, redis_url):
    """Also one whose worker has signed off, or that Redis has forgotten."""
    for question in ("ready", "alive"):
        code, told = probe(question, redis_url)

        assert 1 == code
        assert "no worker of this pod has registered" in told


def test_a_worker_that_has_fallen_silent_is_started_again(worker, redis, redis_url):
    """An idle one gives a sign every few seconds, one with a job every second."""
    redis.hset(worker.key, "last_heartbeat", utcformat(now() - timedelta(seconds=200)))

    assert 0 == probe("ready", redis_url)[0]
    code, told = probe("alive", redis_url)
    assert 1 == code
    assert "silent for 20" in told


def test_workers_of_other_pods_do_not_count(worker, redis, redis_url):
    """Each pod has its own name."""
    redis.hset(worker.key, "hostname", "another-pod")

    assert 1 == probe("alive", redis_url)[0]


def test_nobody_is_blamed_while_redis_is_away():
    """To start all workers again would not bring it back."""
    assert 0 == probe("alive", "redis://127.0.0.1:1/0")[0]
    code, told = probe("ready", "redis://127.0.0.1:1/0")
    assert 1 == code
    assert "Redis is away" in told


def test_the_probe_answers_within_its_time_limit():
    """Redis away: connecting is tried twice, each up to the time that settings allow by default."""
    from service.config import Settings

    for spec in pod_specs(rendered("minimal-values.yaml")).values():
        (container,) = spec["containers"]
        if container["name"] == "worker":
            limit = container["livenessProbe"]["timeoutSeconds"]
            assert limit > 2 * Settings().redis_timeout_s + 2


def test_the_scripts_are_mounted_where_they_are_run_from():
    """The name in the command is the name in the config map."""
    for name in ("minimal-values.yaml", "production-values.yaml"):
        manifests = rendered(name)
        maps = {each["metadata"]["name"]: each["data"] for each in of_kind(manifests, "ConfigMap")}
        for spec in pod_specs(manifests).values():
            (container,) = spec["containers"]
            commands = [container.get("args", [])]
            commands += [
                container[probe]["exec"]["command"]
                for probe in ("startupProbe", "livenessProbe", "readinessProbe")
                if "exec" in container.get(probe, {})
            ]
            volumes = {
                each["name"]: each["configMap"]["name"]
                for each in spec.get("volumes", [])
                if "configMap" in each
            }
            for path in [word for command in commands for word in command if word.endswith(".py")]:
                folder, _, file = path.rpartition("/")
                (mount,) = [
                    each for each in container["volumeMounts"] if each["mountPath"] == folder
                ]
                text = maps[volumes[mount["name"]]][file]
                assert (CHART / "files" / file).read_text().strip() == text.strip()


@pytest.mark.e2e
def test_the_smoke_test_passes_on_a_running_service(tmp_path):
    """The same script that `helm test` runs in the cluster."""
    from tests.e2e.harness import Service

    subprocess.run([sys.executable, "-m", "workers", "warm"], cwd=ROOT, check=True, timeout=300)
    service = Service(tmp_path)
    try:
        service.start()
        for what, told in (("game", "answered by bots"), ("hint", "a hint came")):
            done = subprocess.run(
                [sys.executable, "-I", SMOKE, what],
                env={"API_URL": service.base_url},
                capture_output=True,
                text=True,
                check=False,
                timeout=120,
            )
            assert 0 == done.returncode, done.stderr
            assert told in done.stdout
    finally:
        service.end()


def test_the_smoke_test_says_what_is_missing(tmp_path):
    """Whoever reads the pod's log is told, not shown a traceback."""
    import http.server
    import threading

    class Refusing(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

        def do_POST(self):
            self.send_error(401)

        def log_message(self, *_arguments):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Refusing) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        done = subprocess.run(
            [sys.executable, "-I", SMOKE, "game"],
            env={"API_URL": f"http://127.0.0.1:{server.server_port}"},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        server.shutdown()
        thread.join()

    assert 1 == done.returncode
    assert "the service wants an app key" in done.stderr
    assert "Traceback" not in done.stderr
