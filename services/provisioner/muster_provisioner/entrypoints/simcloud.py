"""The simulated cloud as server of the Cluster Autoscaler's cloud provider protocol: every call (group-capacity §5)."""

import asyncio
from collections import defaultdict
from datetime import datetime
from typing import Any, NoReturn, Protocol

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import DecodeError
from google.protobuf.timestamp_pb2 import Timestamp
from grpc import aio

from clusterautoscaler.cloudprovider.v1.externalgrpc import externalgrpc_pb2 as pb
from clusterautoscaler.cloudprovider.v1.externalgrpc import externalgrpc_pb2_grpc as rpc
from clusterautoscaler.kubernetes.core.v1 import core_pb2
from muster_provisioner.domain.messages import InstanceId
from muster_provisioner.domain.offer import Offer, least_price
from muster_provisioner.entrypoints.simcloud_answers import requests_of, template_node, to_status
from muster_provisioner.ports import DriverError, DriverErrorKind, GroupBounds, NodeGroupDriver, OrderTags
from muster_types import GangId, InvalidQuantity, NodeGroupName, OrderId

NAME = "clusterautoscaler.cloudprovider.v1.externalgrpc.CloudProvider"
# The Cluster Autoscaler takes a node that carries this label and no extended GPU resource for one that never becomes
# ready, so it is not a label that nodes with devices of a DRA driver have.
GPU_LABEL = "muster.dev/accelerator"
_HOUR = 3600.0
_NO_PRICE = "no node group has a price"
Context = aio.ServicerContext[Any, Any]


class Cloud(NodeGroupDriver, Protocol):
    """The cloud behind the server."""

    async def calls(self, group: NodeGroupName) -> tuple[int, int]:
        """How many increase calls it heard of the group, and how many of them took effect."""
        ...


class Catalogue(Protocol):
    """What the cloud sells, and which nodes of the cluster are its own from before."""

    async def refresh(self) -> None:
        """Read anew which groups there are."""
        ...

    def offer(self, group: NodeGroupName) -> Offer | None:
        """A group's offer; None for a group that is not there."""
        ...

    def provider_id(self, instance: InstanceId) -> str:
        """What the cluster's node calls an instance."""
        ...

    def instance(self, provider_id: str) -> InstanceId:
        """The inverse of `provider_id`."""
        ...


class SimcloudServicer(rpc.CloudProviderServicer):
    """One cloud for any number of clients. An increase has no identity in this protocol, so each call counts."""

    def __init__(self, cloud: Cloud, catalogue: Catalogue, cluster: str) -> None:
        self._cloud = cloud
        self._catalogue = catalogue
        self._cluster = cluster
        self._writing: defaultdict[NodeGroupName, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def NodeGroups(self, request: pb.NodeGroupsRequest, context: Context) -> pb.NodeGroupsResponse:  # noqa: N802
        return pb.NodeGroupsResponse(node_groups=[_group(bounds) for bounds in await self._cloud.groups()])

    async def NodeGroupForNode(  # noqa: N802
        self, request: pb.NodeGroupForNodeRequest, context: Context
    ) -> pb.NodeGroupForNodeResponse:
        found = await self._group_of(request.node)
        return pb.NodeGroupForNodeResponse(node_group=pb.NodeGroup() if found is None else _group(found))

    async def PricingNodePrice(  # noqa: N802
        self, request: pb.PricingNodePriceRequest, context: Context
    ) -> pb.PricingNodePriceResponse:
        if all(offer.price is None for offer in await self._offers()):
            await context.abort(grpc.StatusCode.UNIMPLEMENTED, _NO_PRICE)
        found = await self._group_of(request.node)
        offer = None if found is None else self._catalogue.offer(found.group)
        if found is None or offer is None or offer.price is None:
            await context.abort(grpc.StatusCode.NOT_FOUND, f"node {request.node.name!r} has no known price")
        hours = await _hours(request.start_timestamp, request.end_timestamp, context)
        return pb.PricingNodePriceResponse(price=offer.price * hours)

    async def PricingPodPrice(  # noqa: N802
        self, request: pb.PricingPodPriceRequest, context: Context
    ) -> pb.PricingPodPriceResponse:
        offers = await self._offers()
        if all(offer.price is None for offer in offers):
            await context.abort(grpc.StatusCode.UNIMPLEMENTED, _NO_PRICE)
        pod = core_pb2.Pod()
        try:
            pod.ParseFromString(request.pod_bytes)
            price = least_price(offers, requests_of(pod))
        except (DecodeError, InvalidQuantity) as error:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"pod_bytes are no sound core/v1 Pod: {error}")
        if price is None:
            await context.abort(grpc.StatusCode.OUT_OF_RANGE, f"pod {pod.metadata.name!r} fits no node of any group")
        hours = await _hours(request.start_timestamp, request.end_timestamp, context)
        return pb.PricingPodPriceResponse(price=price * hours)

    async def GPULabel(self, request: pb.GPULabelRequest, context: Context) -> pb.GPULabelResponse:  # noqa: N802
        return pb.GPULabelResponse(label=GPU_LABEL)

    async def GetAvailableGPUTypes(  # noqa: N802
        self, request: pb.GetAvailableGPUTypesRequest, context: Context
    ) -> pb.GetAvailableGPUTypesResponse:
        offers = await self._offers()
        types = sorted({offer.labels[GPU_LABEL] for offer in offers if GPU_LABEL in offer.labels})
        return pb.GetAvailableGPUTypesResponse(gpu_types={name: AnyMessage() for name in types})

    async def Cleanup(self, request: pb.CleanupRequest, context: Context) -> pb.CleanupResponse:  # noqa: N802
        return pb.CleanupResponse()

    async def Refresh(self, request: pb.RefreshRequest, context: Context) -> pb.RefreshResponse:  # noqa: N802
        await self._catalogue.refresh()
        return pb.RefreshResponse()

    async def NodeGroupTargetSize(  # noqa: N802
        self, request: pb.NodeGroupTargetSizeRequest, context: Context
    ) -> pb.NodeGroupTargetSizeResponse:
        group = await self._known(request.id, context)
        try:
            return pb.NodeGroupTargetSizeResponse(target_size=await self._cloud.target_size(group))
        except DriverError as error:
            await _refuse(error, context)

    async def NodeGroupIncreaseSize(  # noqa: N802
        self, request: pb.NodeGroupIncreaseSizeRequest, context: Context
    ) -> pb.NodeGroupIncreaseSizeResponse:
        group = await self._known(request.id, context)
        if request.delta < 1:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"delta {request.delta} is not above 0")
        async with self._writing[group]:
            try:
                heard, _ = await self._cloud.calls(group)
                tags = OrderTags(OrderId(f"increase-{heard + 1}"), GangId(""), 0)
                await self._cloud.increase(group, request.delta, tags)
            except DriverError as error:
                await _refuse(error, context)
        return pb.NodeGroupIncreaseSizeResponse()

    async def NodeGroupDeleteNodes(  # noqa: N802
        self, request: pb.NodeGroupDeleteNodesRequest, context: Context
    ) -> pb.NodeGroupDeleteNodesResponse:
        group = await self._known(request.id, context)
        wanted = {self._catalogue.instance(node.provider_id): node for node in request.nodes}
        async with self._writing[group]:
            try:
                there = {each.id for each in await self._cloud.instances(group)}
                foreign = sorted(node.provider_id or node.name for id, node in wanted.items() if id not in there)
                if foreign:
                    reason = f"node group {group} has no node {foreign[0]!r}; nothing was deleted"
                    await context.abort(grpc.StatusCode.INVALID_ARGUMENT, reason)
                await self._cloud.delete(group, sorted(wanted))
            except DriverError as error:
                await _refuse(error, context)
        return pb.NodeGroupDeleteNodesResponse()

    async def NodeGroupDecreaseTargetSize(  # noqa: N802
        self, request: pb.NodeGroupDecreaseTargetSizeRequest, context: Context
    ) -> pb.NodeGroupDecreaseTargetSizeResponse:
        group = await self._known(request.id, context)
        if request.delta >= 0:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"delta {request.delta} is not below 0")
        async with self._writing[group]:
            try:
                await self._cloud.decrease_target(group, -request.delta)
            except DriverError as error:
                await _refuse(error, context)
        return pb.NodeGroupDecreaseTargetSizeResponse()

    async def NodeGroupNodes(  # noqa: N802
        self, request: pb.NodeGroupNodesRequest, context: Context
    ) -> pb.NodeGroupNodesResponse:
        group = await self._known(request.id, context)
        try:
            found = await self._cloud.instances(group)
        except DriverError as error:
            await _refuse(error, context)
        return pb.NodeGroupNodesResponse(
            instances=[pb.Instance(id=self._catalogue.provider_id(each.id), status=to_status(each)) for each in found]
        )

    async def NodeGroupTemplateNodeInfo(  # noqa: N802
        self, request: pb.NodeGroupTemplateNodeInfoRequest, context: Context
    ) -> pb.NodeGroupTemplateNodeInfoResponse:
        group = await self._known(request.id, context)
        offer = self._catalogue.offer(group)
        if offer is None:
            await context.abort(grpc.StatusCode.NOT_FOUND, f"there is no node group {group}")
        node = template_node(offer, group, self._cluster)
        return pb.NodeGroupTemplateNodeInfoResponse(node_bytes=node.SerializeToString(deterministic=True))

    async def NodeGroupGetOptions(  # noqa: N802
        self, request: pb.NodeGroupGetOptionsRequest, context: Context
    ) -> pb.NodeGroupGetOptionsResponse:
        offer = self._catalogue.offer(await self._known(request.id, context))
        options = pb.NodeGroupAutoscalingOptions()
        options.CopyFrom(request.defaults)
        if offer is not None:
            options.zero_or_max_node_scaling = offer.zero_or_max
            limit = Duration()
            limit.FromMilliseconds(round(offer.order_limit_seconds * 1000))
            options.max_node_provision_duration.CopyFrom(limit)
        return pb.NodeGroupGetOptionsResponse(node_group_autoscaling_options=options)

    async def _known(self, id: str, context: Context) -> NodeGroupName:
        known = {bounds.group for bounds in await self._cloud.groups()}
        if id not in known:
            await context.abort(grpc.StatusCode.NOT_FOUND, f"there is no node group {id!r}")
        return NodeGroupName(id)

    async def _group_of(self, node: pb.ExternalGrpcNode) -> GroupBounds | None:
        instance = self._catalogue.instance(node.provider_id)
        for bounds in await self._cloud.groups():
            if any(each.id == instance for each in await self._cloud.instances(bounds.group)):
                return bounds
        return None

    async def _offers(self) -> list[Offer]:
        offers = [self._catalogue.offer(bounds.group) for bounds in await self._cloud.groups()]
        return [offer for offer in offers if offer is not None]


def _group(bounds: GroupBounds) -> pb.NodeGroup:
    debug = f"{bounds.group}: {bounds.min_size} to {bounds.max_size} nodes, simulated"
    return pb.NodeGroup(id=bounds.group, min_size=bounds.min_size, max_size=bounds.max_size, debug=debug)


async def _hours(start: Timestamp, end: Timestamp, context: Context) -> float:
    try:
        begin: datetime = start.ToDatetime()
        return max((end.ToDatetime() - begin).total_seconds(), 0.0) / _HOUR
    except (ValueError, OverflowError) as error:
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"start or end is no time: {error}")


async def _refuse(error: DriverError, context: Context) -> NoReturn:
    code = {
        DriverErrorKind.TRANSIENT: grpc.StatusCode.UNAVAILABLE,
        DriverErrorKind.PERMANENT: grpc.StatusCode.FAILED_PRECONDITION,
        DriverErrorKind.STOCKOUT: grpc.StatusCode.RESOURCE_EXHAUSTED,
        DriverErrorKind.QUOTA: grpc.StatusCode.RESOURCE_EXHAUSTED,
    }[error.kind]
    await context.abort(code, error.message)
