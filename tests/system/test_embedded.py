"""`muster demo` and `muster up`: everything in one process."""

import signal
import subprocess
from pathlib import Path

import pytest
import yaml

from support.deployment import EXAMPLES, MUSTER, plain_environment
from support.processes import run_muster, wait_for

pytestmark = pytest.mark.slow


@pytest.mark.timeout(200)
def test_the_demo_tells_three_stories_that_end_as_told(tmp_path: Path) -> None:
    told = run_muster("demo", "--examples", EXAMPLES, "--state", tmp_path / "demo", deadline=170, cwd=tmp_path)
    assert told.status == 0, told.out + told.err
    assert told.out.count("Story ") == 3
    assert told.out.count("every member is bound: consumed") == 2
    assert "no plan, never" in told.out
    assert "did not end as told" not in told.out
    assert told.out.rstrip().endswith("stopped cleanly")
    assert not list((tmp_path / "demo" / "run").glob("*.json")), "nobody is sent to what has stopped"


def test_muster_up_serves_until_it_is_interrupted_and_a_second_one_on_the_same_state_is_refused(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("wb") as out:
        first = subprocess.Popen(
            [MUSTER, "up", "--load", EXAMPLES / "fleet", "--state", tmp_path / "state"],
            env=plain_environment({}),
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_for(lambda: b"muster is up" in log.read_bytes() or first.poll() is not None, "muster is up")
        assert first.poll() is None, log.read_text()
        assert run_muster("status", "--state", tmp_path / "state").status == 0
        second = run_muster("up", "--state", tmp_path / "state")
        assert second.status == 3
        assert "another process uses" in second.err
        first.send_signal(signal.SIGINT)
        assert first.wait(60) == 0, log.read_text()
    finally:
        if first.poll() is None:
            first.kill()
            first.wait()
    assert "Traceback" not in log.read_text()


def test_muster_up_keeps_to_its_directory_whatever_cluster_the_environment_names(tmp_path: Path) -> None:
    cluster = tmp_path / "kubeconfig"
    context = {"name": "prod", "context": {"cluster": "prod", "user": "prod"}}
    server = {"name": "prod", "cluster": {"server": "http://127.0.0.1:1"}}
    config = {"clusters": [server], "contexts": [context], "users": [{"name": "prod"}], "current-context": "prod"}
    cluster.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", **config}))
    environment = {"MUSTER_CLUSTER_SOURCE": "kubernetes", "MUSTER_KUBECONFIG": str(cluster)}
    log = tmp_path / "log"
    with log.open("wb") as out:
        running = subprocess.Popen(
            [MUSTER, "up", "--load", EXAMPLES / "fleet", "--state", tmp_path / "state"],
            env=plain_environment(environment),
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_for(lambda: b"muster is up" in log.read_bytes() or running.poll() is not None, "muster is up")
        told = run_muster("status", "--state", tmp_path / "state")
        assert (told.status, "13 of 13 ready" in told.out) == (0, True), told.out + log.read_text()
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 0, log.read_text()
    finally:
        if running.poll() is None:
            running.kill()
            running.wait()
