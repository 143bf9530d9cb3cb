"""The service as its own process, from the command line that an image uses."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import orjson
from grpc import aio

from integration.claim_matcher.running import wait_serving
from support.nats_server import wait_until


def environment(url: str, state: Path) -> dict[str, str]:
    own = {"MUSTER_NATS_URL": url, "MUSTER_STATE_DIR": str(state), "MUSTER_GRPC_LISTEN": "127.0.0.1:0"}
    return {**os.environ, **own}


async def test_the_process_serves_and_stops_at_a_signal(streams_url: str, tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "muster_claim_matcher",
        env=environment(streams_url, tmp_path),
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        run = tmp_path / "run" / "claim-matcher.json"
        await wait_until(run.exists, "the service says where it listens", 30)
        told = orjson.loads(run.read_bytes())
        assert told["pid"] == process.pid
        async with aio.insecure_channel(told["grpc"]) as channel:
            await wait_serving(channel)
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(20):
            assert await process.wait() == 0
        assert not run.exists()
    finally:
        if process.returncode is None:
            process.kill()


async def test_a_bad_setting_ends_the_start_with_one_line(tmp_path: Path) -> None:
    bad = {**environment("nats://127.0.0.1:1", tmp_path), "MUSTER_CLUSTERS": ""}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "muster_claim_matcher", env=bad, stderr=asyncio.subprocess.PIPE
    )
    _, errors = await process.communicate()
    assert process.returncode == 2
    assert errors.decode().startswith("setting MUSTER_CLUSTERS=")
    assert len(errors.decode().splitlines()) == 1
