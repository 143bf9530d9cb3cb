"""`muster migrate --kubeconfig` against a fake API server: the same answer as on a dump, and nothing written."""

import asyncio
import json
import sys
from pathlib import Path

from muster_cli.exits import ExitStatus
from support.kube_api import KubeApi
from support.migrate_cases import ROOT, dump_objects


async def _muster(*arguments: object) -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "muster_cli",
        "migrate",
        *map(str, arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


async def test_a_live_cluster_proves_what_its_dump_proves_and_is_only_read(tmp_path: Path) -> None:
    manifest = ROOT / "in" / "29-labels-by-dump.yaml"
    async with KubeApi() as api:
        for obj in dump_objects():
            api.put(obj)
        config = api.kubeconfig(tmp_path / "config")
        live = await _muster(manifest, "--kubeconfig", config, "-o", "json")
        verbs = {call.verb for call in api.users.calls}
    dumped = await _muster(manifest, "--check", ROOT / "dump.yaml", "-o", "json")
    assert json.loads(live[1]) == json.loads(dumped[1])
    assert live[0] == dumped[0] == ExitStatus.NO
    assert verbs == {"list"}


async def test_a_cluster_that_does_not_answer_is_named(tmp_path: Path) -> None:
    async with KubeApi() as api:
        config = api.kubeconfig(tmp_path / "config")
    status, _, err = await _muster(ROOT / "in" / "01-pod-one-gpu.yaml", "--kubeconfig", config)
    assert status == ExitStatus.UNREACHABLE
    assert str(config) in err
    assert "Traceback" not in err
