"""An aio gRPC server with health, reflection, limits, optional TLS, and one place that turns errors into statuses."""

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import grpc
import structlog
from grpc import aio
from grpc_health.v1 import health, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from muster_decider import DomainError
from muster_eventstore import PermanentError, TransientError
from muster_servicekit import telemetry
from muster_servicekit.errors import Invalid, NotFound
from muster_servicekit.health import Health
from muster_servicekit.settings import ServiceSettings

log = structlog.get_logger("muster.grpc")

REASON_KEY = "muster-reason"
MAX_MESSAGE = 64 * 1024 * 1024
_MIN_SEQUENCE_WAIT = 5.0


@dataclass(frozen=True, slots=True)
class Tls:
    """PEM files of the server; with `client_ca` clients must show a certificate of it."""

    certificate: Path
    key: Path
    client_ca: Path | None = None


def settings_tls(settings: ServiceSettings) -> Tls | None:
    """The certificate that the settings name; None serves without TLS."""
    if settings.grpc_certificate is None or settings.grpc_key is None:
        return None
    return Tls(settings.grpc_certificate, settings.grpc_key, settings.grpc_client_ca)


@dataclass(frozen=True, slots=True)
class Service:
    """A servicer to serve: its full name, and the call that adds it to a server."""

    name: str
    add: Callable[[aio.Server], None]


@dataclass(slots=True)
class GrpcServer:
    """A server that is listening: `address` is host:port, the port that was given out when 0 was asked."""

    server: aio.Server
    health: Health
    address: str
    interceptor: "ErrorInterceptor"

    async def stop(self, grace: float) -> None:
        """Say NOT_SERVING, refuse new calls, end the streams (UNAVAILABLE, reason STOPPING: they would never end by
        themselves), let other calls finish within `grace` seconds."""
        await self.health.not_serving()
        stopped = asyncio.ensure_future(self.server.stop(grace))
        self.interceptor.end_streams()
        await stopped


class _Covers(Protocol):
    async def wait_for(self, sequence: int, deadline: float) -> bool: ...


class Listen(Protocol):
    """How a service comes to be called: `start_server`, or something that stands for it."""

    async def __call__(self, listen: str, services: Sequence[Service], *, tls: Tls | None = None) -> GrpcServer: ...


async def start_server(listen: str, services: Sequence[Service], *, tls: Tls | None = None) -> GrpcServer:
    """Bind and start; OSError naming the address when it cannot be bound. Health says NOT_SERVING until
    `health.serving()`."""
    names = tuple(service.name for service in services)
    state = Health(names)
    await state.not_serving()
    interceptor = ErrorInterceptor()
    server = aio.server(
        interceptors=[interceptor],
        options=[
            ("grpc.max_receive_message_length", MAX_MESSAGE),
            ("grpc.max_send_message_length", MAX_MESSAGE),
            ("grpc.so_reuseport", 0),  # two processes on one port would share the calls at random
        ],
    )
    for service in services:
        service.add(server)
    health_pb2_grpc.add_HealthServicer_to_server(state.servicer, server)
    reflection.enable_server_reflection([*names, health.SERVICE_NAME, reflection.SERVICE_NAME], server)
    try:
        port = (
            server.add_insecure_port(listen)
            if tls is None
            else server.add_secure_port(listen, await asyncio.to_thread(_credentials, tls))
        )
    except RuntimeError as error:
        raise OSError(f"cannot listen on {listen}: {error}; set MUSTER_GRPC_LISTEN to a free address") from error
    await server.start()
    address = listen if listen.startswith("unix:") else f"{listen.rsplit(':', 1)[0]}:{port}"
    return GrpcServer(server, state, address, interceptor)


async def wait_min_sequence(projection: _Covers, sequence: int, wait: float = _MIN_SEQUENCE_WAIT) -> None:
    """Let a caller read its own writes: wait until the read model covers `sequence`, at most `wait` seconds.

    Raises TransientError, which the caller sees as UNAVAILABLE and repeats.
    """
    if sequence and not await projection.wait_for(sequence, wait):
        raise TransientError(f"sequence {sequence} is not covered after {wait:g} s; ask again")


def to_status(error: Exception) -> tuple[grpc.StatusCode, str, str] | None:
    """Status, UPPER_SNAKE reason and text for the errors a handler may raise; None for anything else: a bug."""
    match error:
        case DomainError():
            return grpc.StatusCode.FAILED_PRECONDITION, error.reason, str(error) or error.reason
        case NotFound():
            return grpc.StatusCode.NOT_FOUND, error.reason, str(error)
        case Invalid():
            return grpc.StatusCode.INVALID_ARGUMENT, error.reason, str(error)
        case TransientError():
            return grpc.StatusCode.UNAVAILABLE, "TRY_AGAIN", str(error)
        case PermanentError():
            return grpc.StatusCode.INTERNAL, error.reason, error.detail
        case _:
            return None


class ErrorInterceptor(aio.ServerInterceptor):
    """Turns errors of handlers into statuses with the reason in the trailing metadata `muster-reason`, and takes the
    caller's trace context over. What is a bug is logged with its traceback and told as INTERNAL without it."""

    def __init__(self) -> None:
        self._streams: set[asyncio.Task[Any]] = set()
        self._stopping = False

    def end_streams(self) -> None:
        """Tell the callers of all running streams that the service stops."""
        self._stopping = True
        for task in tuple(self._streams):
            task.cancel()

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:  # noqa: ANN401 -- grpc's own signature
        handler = await continuation(handler_call_details)
        if handler is None:
            return None
        method = str(handler_call_details.method)
        if method.startswith(("/grpc.health.", "/grpc.reflection.")):
            return handler
        metadata = dict(handler_call_details.invocation_metadata or ())
        traceparent = str(metadata.get("traceparent", ""))
        if handler.unary_unary is not None:
            return grpc.unary_unary_rpc_method_handler(
                _guard_unary(handler.unary_unary, method, traceparent),
                handler.request_deserializer,
                handler.response_serializer,
            )
        if handler.unary_stream is not None:
            return grpc.unary_stream_rpc_method_handler(
                self._guard_stream(handler.unary_stream, method, traceparent),
                handler.request_deserializer,
                handler.response_serializer,
            )
        return handler

    def _guard_stream(
        self, call: Callable[[Any, Any], AsyncGenerator[Any]], method: str, traceparent: str
    ) -> Callable[[Any, Any], AsyncIterator[Any]]:
        async def guarded(request: object, context: aio.ServicerContext[Any, Any]) -> AsyncIterator[Any]:
            task = asyncio.current_task()
            if task is not None:
                self._streams.add(task)
            try:
                with telemetry.span_of_stream(method, traceparent):
                    async with aclosing(call(request, context)) as answers:
                        async for answer in answers:
                            yield answer
            except aio.AbortError:
                raise
            except asyncio.CancelledError:
                if not self._stopping:
                    raise  # the caller has gone away
                await context.abort(grpc.StatusCode.UNAVAILABLE, "the service stops", ((REASON_KEY, "STOPPING"),))
            except Exception as error:  # noqa: BLE001 -- the one place where a caller is told about any error
                await _abort(error, context, method)
            finally:
                if task is not None:
                    self._streams.discard(task)

        return guarded


def _guard_unary(
    call: Callable[[Any, Any], Awaitable[Any]], method: str, traceparent: str
) -> Callable[[Any, Any], Any]:
    async def guarded(request: object, context: aio.ServicerContext[Any, Any]) -> object:
        try:
            with telemetry.span(method, traceparent):
                return await call(request, context)
        except aio.AbortError:
            raise
        except Exception as error:  # noqa: BLE001 -- the one place where a caller is told about any error
            await _abort(error, context, method)

    return guarded


async def _abort(error: Exception, context: aio.ServicerContext[Any, Any], method: str) -> None:
    known = to_status(error)
    if known is None:
        log.error("call failed by a bug", method=method, exc_info=error)
        known = (grpc.StatusCode.INTERNAL, "INTERNAL", "the service failed; its log says more")
    code, reason, text = known
    await context.abort(code, text, ((REASON_KEY, reason),))


def pin_to_one_cpu(index: int) -> None:
    """Keep this process on one CPU: gRPC's threads and the event loop fight over the GIL when they may run on several,
    which halves the throughput (measured)."""
    if hasattr(os, "sched_setaffinity"):
        allowed = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {allowed[index % len(allowed)]})


def _credentials(tls: Tls) -> grpc.ServerCredentials:
    root = None if tls.client_ca is None else tls.client_ca.read_bytes()
    pair = (tls.key.read_bytes(), tls.certificate.read_bytes())
    return grpc.ssl_server_credentials([pair], root_certificates=root, require_client_auth=root is not None)
