"""One provider behind the externalgrpc protocol: every call with its deadline, every failure as a DriverError."""

from __future__ import annotations  # the async stub exists for type checkers alone

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import grpc
import structlog
from grpc import aio

from clusterautoscaler.cloudprovider.v1.externalgrpc import externalgrpc_pb2 as pb
from clusterautoscaler.cloudprovider.v1.externalgrpc import externalgrpc_pb2_grpc as rpc
from muster_provisioner.adapters.externalgrpc.endpoint import Endpoint
from muster_provisioner.ports import DriverError, DriverErrorKind

log = structlog.get_logger("muster.externalgrpc")

T = TypeVar("T")
_MAX_MESSAGE = 64 * 1024 * 1024

# Answers that say that nothing was done. UNKNOWN and INTERNAL are not among them: many servers send them for whatever
# went wrong, before or after the effect.
_ANSWERS = {
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.ALREADY_EXISTS,
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.UNAUTHENTICATED,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.OUT_OF_RANGE,
    grpc.StatusCode.UNIMPLEMENTED,
}


@dataclass(frozen=True, slots=True)
class _Pem:
    """Contents of the three files of an endpoint."""

    key: bytes
    cert: bytes
    cacert: bytes


class Provider:
    """The server at one endpoint. Every method raises DriverError; `Refresh` comes before what it may have cached."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._pem: _Pem | None = None
        self._channel: aio.Channel | None = None
        self._opening = asyncio.Lock()

    @property
    def address(self) -> str:
        """host:port."""
        return self._endpoint.address

    async def close(self) -> None:
        """Close the connection; a later call opens another one. The server is not told to clean up (RPC `Cleanup`):
        it may have other clients."""
        async with self._opening:
            channel, self._channel = self._channel, None
        if channel is not None:
            await channel.close(grace=None)

    async def refresh(self) -> None:
        """Let the server read anew what it caches."""
        await self._call("Refresh", lambda stub, timeout: stub.Refresh(pb.RefreshRequest(), timeout=timeout))

    async def node_groups(self) -> Sequence[pb.NodeGroup]:
        """All groups. A failure is a failure: it never reads as an empty list."""
        answer = await self._call(
            "NodeGroups", lambda stub, timeout: stub.NodeGroups(pb.NodeGroupsRequest(), timeout=timeout)
        )
        return answer.node_groups

    async def target_size(self, id: str) -> int:
        """Target size of a group."""
        request = pb.NodeGroupTargetSizeRequest(id=id)
        answer = await self._call(
            "NodeGroupTargetSize", lambda stub, timeout: stub.NodeGroupTargetSize(request, timeout=timeout)
        )
        return answer.target_size

    async def nodes(self, id: str) -> Sequence[pb.Instance]:
        """All instances of a group."""
        request = pb.NodeGroupNodesRequest(id=id)
        answer = await self._call("NodeGroupNodes", lambda stub, timeout: stub.NodeGroupNodes(request, timeout=timeout))
        return answer.instances

    async def increase_size(self, id: str, delta: int) -> None:
        """Raise the target size by `delta`; TRANSIENT: nobody knows whether it was raised."""
        request = pb.NodeGroupIncreaseSizeRequest(id=id, delta=delta)
        await self._call(
            "NodeGroupIncreaseSize", lambda stub, timeout: stub.NodeGroupIncreaseSize(request, timeout=timeout)
        )

    async def delete_nodes(self, id: str, nodes: Sequence[pb.ExternalGrpcNode]) -> None:
        """Delete these instances and lower the target size with them."""
        request = pb.NodeGroupDeleteNodesRequest(id=id, nodes=nodes)
        await self._call(
            "NodeGroupDeleteNodes", lambda stub, timeout: stub.NodeGroupDeleteNodes(request, timeout=timeout)
        )

    async def decrease_target_size(self, id: str, by: int) -> None:
        """Take back `by` (>= 1) of the target size that no instance stands for."""
        request = pb.NodeGroupDecreaseTargetSizeRequest(id=id, delta=-by)
        await self._call(
            "NodeGroupDecreaseTargetSize",
            lambda stub, timeout: stub.NodeGroupDecreaseTargetSize(request, timeout=timeout),
        )

    async def template_node(self, id: str) -> bytes | None:
        """A serialised core/v1 Node as a new node would register; None: the server does not say. Servers before 1.35
        put it into field 1 (rule N-5.1)."""
        request = pb.NodeGroupTemplateNodeInfoRequest(id=id)
        answer = await self._optional(
            "NodeGroupTemplateNodeInfo",
            lambda stub, timeout: stub.NodeGroupTemplateNodeInfo(request, timeout=timeout),
        )
        return None if answer is None else answer.node_bytes or answer.node_info or None

    async def options(self, id: str) -> pb.NodeGroupAutoscalingOptions | None:
        """What the server wants of a group; None: it has no wishes."""
        request = pb.NodeGroupGetOptionsRequest(id=id, defaults=pb.NodeGroupAutoscalingOptions())
        answer = await self._optional(
            "NodeGroupGetOptions", lambda stub, timeout: stub.NodeGroupGetOptions(request, timeout=timeout)
        )
        if answer is None or not answer.HasField("node_group_autoscaling_options"):
            return None
        return answer.node_group_autoscaling_options

    async def _optional(
        self, method: str, call: Callable[[rpc.CloudProviderAsyncStub, float], Awaitable[T]]
    ) -> T | None:
        try:
            return await self._raw(call)
        except aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.UNIMPLEMENTED:
                return None
            raise self._failure(method, error) from error

    async def _call(self, method: str, call: Callable[[rpc.CloudProviderAsyncStub, float], Awaitable[T]]) -> T:
        try:
            return await self._raw(call)
        except aio.AioRpcError as error:
            raise self._failure(method, error) from error

    async def _raw(self, call: Callable[[rpc.CloudProviderAsyncStub, float], Awaitable[T]]) -> T:
        try:
            channel = self._channel or await self._open()
        except OSError as error:
            reason = f"provider {self.address}: {error.filename}: {error.strerror}"
            raise DriverError(DriverErrorKind.TRANSIENT, reason) from error
        try:
            return await call(rpc.CloudProviderStub(channel), self._endpoint.grpc_timeout.total_seconds())
        except aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.UNAVAILABLE:
                await self._reopen_if_renewed()
            raise

    async def _open(self) -> aio.Channel:
        async with self._opening:
            if self._channel is None:
                self._pem = await self._read_pem()
                self._channel = _channel(self.address, self._pem)
            return self._channel

    async def _reopen_if_renewed(self) -> None:
        """Certificates are renewed in place; the next call shows the new ones."""
        try:
            renewed = await self._read_pem() != self._pem
        except OSError as error:
            log.warning("certificates cannot be read", address=self.address, file=error.filename, error=error.strerror)
            return
        if renewed:
            await self.close()

    async def _read_pem(self) -> _Pem | None:
        key, cert, cacert = self._endpoint.key, self._endpoint.cert, self._endpoint.cacert
        if key is None or cert is None or cacert is None:
            return None
        return await asyncio.to_thread(lambda: _Pem(key.read_bytes(), cert.read_bytes(), cacert.read_bytes()))

    def _failure(self, method: str, error: aio.AioRpcError) -> DriverError:
        code, details = error.code(), error.details() or "no details"
        message = f"provider {self.address}: {method}: {code.name}: {details}"
        if code in _ANSWERS:
            return DriverError(DriverErrorKind.PERMANENT, message)
        if code is grpc.StatusCode.RESOURCE_EXHAUSTED and method == "NodeGroupIncreaseSize":
            kind = DriverErrorKind.QUOTA if is_quota(details) else DriverErrorKind.STOCKOUT
            return DriverError(kind, message)
        return DriverError(DriverErrorKind.TRANSIENT, message)


def is_quota(text: str) -> bool:
    """Whether a provider's text speaks of a quota or limit rather than of a stock that is empty."""
    lowered = text.lower()
    return "quota" in lowered or ("limit" in lowered and "exceed" in lowered)


def _channel(address: str, pem: _Pem | None) -> aio.Channel:
    options = [("grpc.max_receive_message_length", _MAX_MESSAGE), ("grpc.max_reconnect_backoff_ms", 5000)]
    if pem is None:
        return aio.insecure_channel(address, options=options)
    credentials = grpc.ssl_channel_credentials(
        root_certificates=pem.cacert, private_key=pem.key, certificate_chain=pem.cert
    )
    return aio.secure_channel(address, credentials, options=options)
