"""A server of the externalgrpc protocol whose answers a test decides, to the letter of the wire."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn

import grpc
from grpc import aio

from clusterautoscaler.cloudprovider.v1.externalgrpc import externalgrpc_pb2 as pb
from clusterautoscaler.cloudprovider.v1.externalgrpc import externalgrpc_pb2_grpc as rpc

Context = aio.ServicerContext[Any, Any]
GROUP_ID = "group-1"


@dataclass(slots=True)
class ScriptedProvider(rpc.CloudProviderServicer):
    """One group. `failing` gives methods a status; `calls` are the methods that were called, with what they asked."""

    target: int = 2
    most: int = 8
    instances: list[pb.Instance] = field(default_factory=list)
    template: pb.NodeGroupTemplateNodeInfoResponse | None = None
    options: pb.NodeGroupAutoscalingOptions | None = None
    failing: dict[str, tuple[grpc.StatusCode, str]] = field(default_factory=dict)
    hanging: set[str] = field(default_factory=set)
    calls: list[tuple[str, object]] = field(default_factory=list)
    slow: float = 0.0
    busy: int = 0
    busiest: int = 0
    address: str = ""

    async def _called(self, method: str, context: Context, request: object = None) -> None:
        self.calls.append((method, request))
        if method in self.hanging:
            await asyncio.Event().wait()
        if method in self.failing:
            code, text = self.failing[method]
            await context.abort(code, text)

    async def NodeGroups(self, request: pb.NodeGroupsRequest, context: Context) -> pb.NodeGroupsResponse:  # noqa: N802
        await self._called("NodeGroups", context)
        return pb.NodeGroupsResponse(node_groups=[pb.NodeGroup(id=GROUP_ID, min_size=0, max_size=self.most)])

    async def Refresh(self, request: pb.RefreshRequest, context: Context) -> pb.RefreshResponse:  # noqa: N802
        await self._called("Refresh", context)
        return pb.RefreshResponse()

    async def NodeGroupTargetSize(  # noqa: N802
        self, request: pb.NodeGroupTargetSizeRequest, context: Context
    ) -> pb.NodeGroupTargetSizeResponse:
        await self._called("NodeGroupTargetSize", context, request.id)
        return pb.NodeGroupTargetSizeResponse(target_size=self.target)

    async def NodeGroupIncreaseSize(  # noqa: N802
        self, request: pb.NodeGroupIncreaseSizeRequest, context: Context
    ) -> pb.NodeGroupIncreaseSizeResponse:
        self.busy += 1
        self.busiest = max(self.busiest, self.busy)
        try:
            await self._called("NodeGroupIncreaseSize", context, request.delta)
            await asyncio.sleep(self.slow)
            self.target += request.delta
        finally:
            self.busy -= 1
        return pb.NodeGroupIncreaseSizeResponse()

    async def NodeGroupDeleteNodes(  # noqa: N802
        self, request: pb.NodeGroupDeleteNodesRequest, context: Context
    ) -> pb.NodeGroupDeleteNodesResponse:
        ids = [node.provider_id for node in request.nodes]
        await self._called("NodeGroupDeleteNodes", context, ids)
        self.instances = [each for each in self.instances if each.id not in ids]
        self.target -= len(ids)
        return pb.NodeGroupDeleteNodesResponse()

    async def NodeGroupDecreaseTargetSize(  # noqa: N802
        self, request: pb.NodeGroupDecreaseTargetSizeRequest, context: Context
    ) -> pb.NodeGroupDecreaseTargetSizeResponse:
        await self._called("NodeGroupDecreaseTargetSize", context, request.delta)
        self.target += request.delta
        return pb.NodeGroupDecreaseTargetSizeResponse()

    async def NodeGroupNodes(  # noqa: N802
        self, request: pb.NodeGroupNodesRequest, context: Context
    ) -> pb.NodeGroupNodesResponse:
        await self._called("NodeGroupNodes", context, request.id)
        return pb.NodeGroupNodesResponse(instances=self.instances)

    async def NodeGroupTemplateNodeInfo(  # noqa: N802
        self, request: pb.NodeGroupTemplateNodeInfoRequest, context: Context
    ) -> pb.NodeGroupTemplateNodeInfoResponse:
        await self._called("NodeGroupTemplateNodeInfo", context, request.id)
        return self.template or await _unimplemented(context)

    async def NodeGroupGetOptions(  # noqa: N802
        self, request: pb.NodeGroupGetOptionsRequest, context: Context
    ) -> pb.NodeGroupGetOptionsResponse:
        await self._called("NodeGroupGetOptions", context, request.id)
        if self.options is None:
            await _unimplemented(context)
        return pb.NodeGroupGetOptionsResponse(node_group_autoscaling_options=self.options)

    def made(self, method: str) -> list[object]:
        """What each call of a method asked."""
        return [asked for called, asked in self.calls if called == method]


async def _unimplemented(context: Context) -> NoReturn:
    await context.abort(grpc.StatusCode.UNIMPLEMENTED, "not offered")


@asynccontextmanager
async def listening(
    provider: ScriptedProvider, credentials: grpc.ServerCredentials | None = None
) -> AsyncGenerator[ScriptedProvider]:
    """Serve on localhost, without TLS unless credentials are given."""
    server = aio.server(options=[("grpc.so_reuseport", 0)])
    rpc.add_CloudProviderServicer_to_server(provider, server)
    port = (
        server.add_insecure_port("localhost:0")
        if credentials is None
        else server.add_secure_port("localhost:0", credentials)
    )
    await server.start()
    provider.address = f"localhost:{port}"
    try:
        yield provider
    finally:
        await server.stop(0)


def an_instance(
    id: str,
    state: pb.InstanceStatus.InstanceState = pb.InstanceStatus.INSTANCE_STATE_RUNNING,
    error: pb.InstanceErrorInfo | None = None,
) -> pb.Instance:
    """An instance with a status."""
    return pb.Instance(id=id, status=pb.InstanceStatus(instance_state=state, error_info=error))
