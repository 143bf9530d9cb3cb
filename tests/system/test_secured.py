"""Every wire closed: story 1 over mutual TLS, each service with no more than its own subjects."""

import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import nats.errors
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from nats.aio.client import Client

from muster_eventstore import JetStreamStore, backup_stream, connect, list_parked, restore_stream
from support.deployment import EXAMPLES, plain_environment
from support.nats_server import wait_until
from support.processes import DEADLINE, SERVICES, run_muster
from support.secured import OPERATOR, SecuredProcesses, name_of

pytestmark = pytest.mark.slow
BARE = ("MUSTER_STATE_DIR", "MUSTER_NATS_URL")

FOREIGN = {
    "inventory": "muster.gangs.local.gang.x",
    "cluster-watcher": "muster.inventory.local.node.x",
    "claim-matcher": "muster.provisioning.local.order.x",
    "gang-coordinator": "muster.claims.local.ledger",
    "provisioner": "muster.claims.local.ledger",
    OPERATOR: "muster.gangs.local.gang.x",
}
LEASES = {user: f"$KV.leases.{'inventory' if user == 'provisioner' else 'provisioner'}.local" for user in FOREIGN}
GARBAGE = {  # whom a service may send commands to, and what reads them
    "muster.commands.gangs.local.CancelGang.nobody": OPERATOR,
    "muster.commands.claims.local.BookGang.nobody": "gang-coordinator",
    "muster.commands.provisioning.local.PlaceOrder.nobody": "gang-coordinator",
}


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredProcesses]:
    with SecuredProcesses(tmp_path_factory.mktemp("secured")) as running:
        yield running


def test_a_gang_is_served_over_mutual_tls_with_each_service_as_its_own_user(secured: SecuredProcesses) -> None:
    asked = secured.muster("request", EXAMPLES / "story-1", "--until-consumed")
    assert (asked.status, "CONSUMED" in asked.out) == (0, True), asked.err
    refused = [name for name, service in secured.services.items() if "permissions violation" in service.text().lower()]
    assert refused == [], "a service needs a subject that its user lacks"
    assert secured.tracebacks() == []


@pytest.mark.parametrize(("user", "subject"), [*sorted(FOREIGN.items()), *sorted(LEASES.items())])
async def test_nobody_writes_what_another_service_owns(secured: SecuredProcesses, user: str, subject: str) -> None:
    refusal = f'{name_of(user)}" - Publish Violation - Subject "{subject}"'
    async with _connected(secured, user) as client:
        with pytest.raises((nats.errors.TimeoutError, nats.errors.NoRespondersError)):
            await client.request(subject, b"forged", timeout=0.5)
        await wait_until(lambda: refusal in _log(secured), "the server has refused it")


async def test_what_a_service_cannot_read_it_may_park(secured: SecuredProcesses) -> None:
    for subject, user in GARBAGE.items():
        async with _connected(secured, user) as client:
            await client.request(subject, b"garbage", timeout=DEADLINE)
    async with _connected(secured, OPERATOR) as client:
        store = JetStreamStore(client)

        async def all_parked() -> bool:
            return {each.original.subject for each in await list_parked(store)} == set(GARBAGE)

        await wait_until(all_parked, "every message that nobody can read is parked", DEADLINE)


async def test_the_operator_may_copy_a_stream_and_put_it_back(secured: SecuredProcesses, tmp_path: Path) -> None:
    async with _connected(secured, OPERATOR) as client:
        streams = client.jetstream()
        await streams.add_stream(name="scratch", subjects=["muster.replays-of-a-test.>"])
        await backup_stream(client, "scratch", tmp_path, lambda _: None)
        await streams.delete_stream("scratch")
        assert (await restore_stream(client, tmp_path / "scratch", lambda _: None)).stream == "scratch"
        await streams.delete_stream("scratch")
    assert '"$JS.SNAPSHOT' not in _log(secured), "a chunk that cannot be acknowledged ends the copy of a large stream"


@asynccontextmanager
async def _connected(secured: SecuredProcesses, user: str) -> AsyncGenerator[Client]:
    client = await connect(secured.certificates.address(secured.nats.url, user), "test")
    try:
        yield client
    finally:
        await client.close()


def _log(secured: SecuredProcesses) -> str:
    return (secured.nats.home / "nats.log").read_text()


@pytest.mark.parametrize("service", SERVICES)
def test_a_caller_without_a_certificate_is_not_answered(secured: SecuredProcesses, service: str) -> None:
    stranger = grpc.ssl_channel_credentials(secured.certificates.ca.read_bytes())
    with grpc.secure_channel(secured.services[service].address, stranger) as channel:
        stub = health_pb2_grpc.HealthStub(channel)  # pyright: ignore[reportAttributeAccessIssue] -- not in the stubs
        with pytest.raises(grpc.RpcError) as refused:
            stub.Check(health_pb2.HealthCheckRequest(), timeout=5)
    assert refused.value.code() is grpc.StatusCode.UNAVAILABLE


@pytest.mark.parametrize("service", SERVICES)
def test_the_probe_of_a_container_asks_with_the_certificate_of_its_service(
    secured: SecuredProcesses, service: str
) -> None:
    environment = {**secured.environment(service), "MUSTER_GRPC_LISTEN": secured.services[service].address}
    assert probe(environment, name_of(service)) == (0, "")
    bare = {name: value for name, value in environment.items() if name != "MUSTER_GRPC_CA"}
    status, said = probe(bare, name_of(service))
    assert (status, "no answer at 127.0.0.1:" in said) == (1, True), said
    status, said = probe(environment, "somebody.else.svc")
    assert (status, "UNAVAILABLE" in said) == (1, True), said


def probe(environment: Mapping[str, str], name: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "muster_servicekit.probe", name]
    done = subprocess.run(command, env=plain_environment(environment), capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def test_the_command_without_certificates_says_whom_it_did_not_reach(secured: SecuredProcesses) -> None:
    assert secured.muster("gang", "list").status == 0
    bare = {name: value for name, value in secured.command_environment().items() if name in BARE}
    for command, unreached in (("gang", "gang-coordinator"), ("parked", "NATS server")):
        told = run_muster(command, "list", environment=bare)
        assert (told.status, unreached in told.err) == (3, True), told.err
