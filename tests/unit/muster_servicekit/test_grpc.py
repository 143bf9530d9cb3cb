"""The gRPC server: errors as statuses, health, reflection, limits, TLS."""

import asyncio
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import pytest
from grpc import aio
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from contract.eventstore.tally import Forbidden
from muster.api.capacity.v1 import capacity_service_pb2 as pb
from muster.api.capacity.v1 import capacity_service_pb2_grpc as pb_grpc
from muster_eventstore import PermanentError, TransientError
from muster_servicekit.errors import Invalid, NotFound
from muster_servicekit.grpc import GrpcServer, Service, Tls, start_server, wait_min_sequence
from muster_servicekit.telemetry import current_traceparent, set_up_tracing

NAME = "muster.api.capacity.v1.CapacityService"


class Capacity(pb_grpc.CapacityServiceServicer):
    """Raises what a test asks for."""

    error: Exception | None = None
    traceparent = ""
    started: asyncio.Event
    release: asyncio.Event

    async def GetGang(self, request: pb.GetGangRequest, context: object) -> pb.GetGangResponse:  # noqa: N802 -- generated name
        self.traceparent = current_traceparent()
        if request.gang_id == "slow":
            self.started.set()
            await self.release.wait()
        if self.error is not None:
            raise self.error
        return pb.GetGangResponse(sequence=7)

    async def WatchGang(  # noqa: N802 -- generated name
        self, request: pb.WatchGangRequest, context: object
    ) -> AsyncIterator[pb.WatchGangResponse]:
        yield pb.WatchGangResponse(sequence=1)
        if request.gang_id == "endless":
            await asyncio.Event().wait()
        if self.error is not None:
            raise self.error


@pytest.fixture
def servicer() -> Capacity:
    capacity = Capacity()
    capacity.started, capacity.release = asyncio.Event(), asyncio.Event()
    return capacity


@pytest.fixture
async def server(servicer: Capacity) -> AsyncIterator[GrpcServer]:
    started = await start_server(
        "127.0.0.1:0", [Service(NAME, lambda s: pb_grpc.add_CapacityServiceServicer_to_server(servicer, s))]
    )
    yield started
    await started.stop(0)


@pytest.fixture
async def channel(server: GrpcServer) -> AsyncIterator[aio.Channel]:
    async with aio.insecure_channel(server.address) as opened:
        yield opened


@pytest.mark.parametrize(
    ("error", "code", "reason", "text"),
    [
        (Forbidden("not released"), grpc.StatusCode.FAILED_PRECONDITION, "FORBIDDEN", "not released"),
        (NotFound("no gang g"), grpc.StatusCode.NOT_FOUND, "NOT_FOUND", "no gang g"),
        (
            Invalid("page_token: not ours", "BAD_TOKEN"),
            grpc.StatusCode.INVALID_ARGUMENT,
            "BAD_TOKEN",
            "page_token: not ours",
        ),
        (TransientError("away"), grpc.StatusCode.UNAVAILABLE, "TRY_AGAIN", "away"),
        (PermanentError("TOO_LARGE", "9 MB"), grpc.StatusCode.INTERNAL, "TOO_LARGE", "9 MB"),
        (KeyError("secret"), grpc.StatusCode.INTERNAL, "INTERNAL", "the service failed; its log says more"),
    ],
)
async def test_an_error_of_a_handler_is_a_status_with_a_reason(
    error: Exception, code: grpc.StatusCode, reason: str, text: str, servicer: Capacity, channel: aio.Channel
) -> None:
    servicer.error = error
    stub = pb_grpc.CapacityServiceStub(channel)
    with pytest.raises(aio.AioRpcError) as failed:
        await stub.GetGang(pb.GetGangRequest())
    assert failed.value.code() is code
    assert failed.value.details() == text
    assert dict(failed.value.trailing_metadata())["muster-reason"] == reason

    watch = stub.WatchGang(pb.WatchGangRequest())
    assert (await watch.read()).sequence == 1
    with pytest.raises(aio.AioRpcError) as failed:
        await watch.read()
    assert failed.value.code() is code
    assert dict(failed.value.trailing_metadata())["muster-reason"] == reason


async def test_a_call_without_an_error_is_answered_in_the_callers_trace(
    servicer: Capacity, channel: aio.Channel
) -> None:
    set_up_tracing("test")
    trace = "0" * 31 + "a"
    metadata = (("traceparent", f"00-{trace}-00000000000000ab-01"),)
    answer = await pb_grpc.CapacityServiceStub(channel).GetGang(pb.GetGangRequest(), metadata=metadata)
    assert answer.sequence == 7
    assert servicer.traceparent.split("-")[1] == trace
    assert [a.sequence async for a in pb_grpc.CapacityServiceStub(channel).WatchGang(pb.WatchGangRequest())] == [1]


async def test_health_follows_the_life_of_the_service(server: GrpcServer, channel: aio.Channel) -> None:
    stub = health_pb2_grpc.HealthStub(channel)
    request = health_pb2.HealthCheckRequest(service=NAME)
    assert (await stub.Check(request)).status == health_pb2.HealthCheckResponse.NOT_SERVING
    await server.health.serving()
    assert (await stub.Check(request)).status == health_pb2.HealthCheckResponse.SERVING
    assert (await stub.Check(health_pb2.HealthCheckRequest())).status == health_pb2.HealthCheckResponse.SERVING


async def test_a_stop_lets_a_running_call_finish(server: GrpcServer, servicer: Capacity, channel: aio.Channel) -> None:
    call = asyncio.ensure_future(pb_grpc.CapacityServiceStub(channel).GetGang(pb.GetGangRequest(gang_id="slow")))
    await servicer.started.wait()
    stopping = asyncio.create_task(server.stop(5))
    await asyncio.sleep(0)
    servicer.release.set()
    assert (await call).sequence == 7
    await stopping


async def test_a_stop_ends_a_stream_at_once_and_says_so(server: GrpcServer, channel: aio.Channel) -> None:
    watch = pb_grpc.CapacityServiceStub(channel).WatchGang(pb.WatchGangRequest(gang_id="endless"))
    assert (await watch.read()).sequence == 1
    async with asyncio.timeout(5):
        await server.stop(60)
    with pytest.raises(aio.AioRpcError) as failed:
        await watch.read()
    assert failed.value.code() is grpc.StatusCode.UNAVAILABLE
    assert dict(failed.value.trailing_metadata())["muster-reason"] == "STOPPING"


async def test_reflection_lists_the_service(channel: aio.Channel) -> None:
    stub = reflection_pb2_grpc.ServerReflectionStub(channel)
    request = reflection_pb2.ServerReflectionRequest(list_services="")
    async for answer in stub.ServerReflectionInfo(iter([request])):
        assert NAME in {service.name for service in answer.list_services_response.service}
        break


async def test_a_taken_address_is_named(server: GrpcServer) -> None:
    with pytest.raises(OSError, match=rf"cannot listen on {server.address}.*MUSTER_GRPC_LISTEN"):
        await start_server(server.address, [])


async def test_reading_own_writes_waits_and_ends_as_try_again() -> None:
    class Behind:
        async def wait_for(self, sequence: int, deadline: float) -> bool:
            return sequence <= 5

    await wait_min_sequence(Behind(), 0)
    await wait_min_sequence(Behind(), 5)
    with pytest.raises(TransientError, match=r"sequence 6 is not covered after 0\.1 s"):
        await wait_min_sequence(Behind(), 6, 0.1)


@pytest.fixture
def certified(tmp_path: Path) -> tuple[Path, Path]:
    """A key and a certificate of its own making."""
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    return key, certificate


async def test_with_a_client_ca_only_clients_with_a_certificate_are_served(
    certified: tuple[Path, Path], servicer: Capacity
) -> None:
    key, certificate = certified
    service = Service(NAME, lambda s: pb_grpc.add_CapacityServiceServicer_to_server(servicer, s))
    server = await start_server("localhost:0", [service], tls=Tls(certificate, key, client_ca=certificate))
    root = certificate.read_bytes()
    known = grpc.ssl_channel_credentials(root, key.read_bytes(), root)
    async with aio.secure_channel(server.address, known) as channel:
        assert (await pb_grpc.CapacityServiceStub(channel).GetGang(pb.GetGangRequest())).sequence == 7
    async with aio.secure_channel(server.address, grpc.ssl_channel_credentials(root)) as channel:
        with pytest.raises(aio.AioRpcError) as failed:
            await pb_grpc.CapacityServiceStub(channel).GetGang(pb.GetGangRequest(), timeout=5)
        assert failed.value.code() is grpc.StatusCode.UNAVAILABLE
    await server.stop(0)
