"""muster.api.inventory.v1.InventoryService."""

from collections.abc import AsyncIterator
from typing import Any

from grpc import aio

from muster.api.inventory.v1 import inventory_service_pb2 as api
from muster.api.inventory.v1 import inventory_service_pb2_grpc as rpc
from muster.type.v1.object_pb2 import ObjectRef
from muster_eventstore import Codec, Decoded, EventStore, InvalidSubject, event_filter, parse_event
from muster_inventory.domain.node import Node, NodeCommand
from muster_inventory.domain.node_group import NodeGroup, NodeGroupCommand
from muster_inventory.domain.pool import Pool, PoolCommand
from muster_inventory.entrypoints.objects import read_objects
from muster_inventory.entrypoints.observed import Settling
from muster_inventory.handlers.export import export_state
from muster_inventory.handlers.queries import Queries
from muster_inventory.handlers.subjects import NODE, NODE_GROUP, POOL, STREAM
from muster_inventory.ports import Aggregates
from muster_inventory.wire import api as to_api
from muster_servicekit.errors import Invalid
from muster_servicekit.grpc import wait_min_sequence
from muster_types import ClusterId, NodeName

Context = aio.ServicerContext[Any, Any]
NAME = api.DESCRIPTOR.services_by_name["InventoryService"].full_name
_KINDS = {NODE: "Node", NODE_GROUP: "NodeGroup", POOL: "Pool"}


class InventoryServicer(rpc.InventoryServiceServicer):
    """Every answer tells the sequence of `observed` that it reflects; an empty cluster means the first configured."""

    def __init__(
        self,
        *,
        queries: Queries,
        nodes: Aggregates[NodeCommand, Node | None],
        groups: Aggregates[NodeGroupCommand, NodeGroup],
        pools: Aggregates[PoolCommand, Pool | None],
        settling: Settling,
        store: EventStore,
        codec: Codec,
        clusters: tuple[str, ...],
        query_wait: float,
    ) -> None:
        self._queries = queries
        self._nodes = nodes
        self._groups = groups
        self._pools = pools
        self._settling = settling
        self._store = store
        self._codec = codec
        self._clusters = clusters
        self._query_wait = query_wait

    async def ListNodes(self, request: api.ListNodesRequest, context: Context) -> api.ListNodesResponse:  # noqa: N802 -- the generated name
        cluster = await self._ready(request.cluster, request.min_sequence)
        page = self._queries.list_nodes(cluster, request.page.size, request.page.token)
        return api.ListNodesResponse(
            nodes=map(to_api.to_node, page.items), sequence=self._settling.position, next_page_token=page.next_token
        )

    async def ListPools(self, request: api.ListPoolsRequest, context: Context) -> api.ListPoolsResponse:  # noqa: N802 -- the generated name
        cluster = await self._ready(request.cluster, request.min_sequence)
        page = self._queries.list_pools(cluster, request.page.size, request.page.token)
        return api.ListPoolsResponse(
            pools=map(to_api.to_pool, page.items), sequence=self._settling.position, next_page_token=page.next_token
        )

    async def ListDevices(self, request: api.ListDevicesRequest, context: Context) -> api.ListDevicesResponse:  # noqa: N802 -- the generated name
        cluster = await self._ready(request.cluster, request.min_sequence)
        node = NodeName(request.node) if request.node else None
        page = self._queries.list_devices(cluster, node, request.page.size, request.page.token)
        return api.ListDevicesResponse(
            devices=map(to_api.to_device, page.items), sequence=self._settling.position, next_page_token=page.next_token
        )

    async def ListNodeGroups(  # noqa: N802 -- the generated name
        self, request: api.ListNodeGroupsRequest, context: Context
    ) -> api.ListNodeGroupsResponse:
        cluster = await self._ready(request.cluster, request.min_sequence)
        groups = self._queries.list_node_groups(cluster)
        return api.ListNodeGroupsResponse(
            node_groups=map(to_api.to_node_group, groups), sequence=self._settling.position
        )

    async def ListProblems(self, request: api.ListProblemsRequest, context: Context) -> api.ListProblemsResponse:  # noqa: N802 -- the generated name
        cluster = await self._ready(request.cluster, request.min_sequence)
        problems = self._queries.list_problems(cluster)
        return api.ListProblemsResponse(problems=map(to_api.to_problem, problems), sequence=self._settling.position)

    async def WatchInventory(  # noqa: N802 -- the generated name
        self, request: api.WatchInventoryRequest, context: Context
    ) -> AsyncIterator[api.WatchInventoryResponse]:
        cluster = self._cluster(request.cluster)
        async for chunk in self._store.read(STREAM, [event_filter(STREAM, cluster)], request.after_sequence):
            for message in chunk.messages:
                subject = parse_event(message.subject)
                decoded = self._codec.decode(message.headers, message.data)
                if isinstance(subject, InvalidSubject) or not isinstance(decoded, Decoded):
                    continue  # somebody else's bytes; the writer of the stream reports them
                ref = ObjectRef(kind=_KINDS.get(subject.kind, subject.kind), name="/".join(subject.ids))
                for event in decoded.batch.events:
                    yield api.WatchInventoryResponse(
                        sequence=message.sequence,
                        type=event.DESCRIPTOR.full_name,
                        payload=event.SerializeToString(deterministic=True),
                        object=ref,
                    )

    async def ExportState(self, request: api.ExportStateRequest, context: Context) -> api.ExportStateResponse:  # noqa: N802 -- the generated name
        cluster = await self._ready(request.cluster, request.min_sequence)
        json = export_state(cluster, self._nodes.states(), self._groups.states(), self._pools.states())
        return api.ExportStateResponse(json=json, sequence=self._settling.position)

    async def ExportObjects(  # noqa: N802 -- the generated name
        self, request: api.ExportObjectsRequest, context: Context
    ) -> AsyncIterator[api.ExportObjectsResponse]:
        cluster = await self._ready(request.cluster, request.min_sequence)
        shown = await read_objects(self._store, self._codec, cluster)
        for part in shown.parts():
            yield api.ExportObjectsResponse(objects=part)
        problems = map(to_api.to_problem, self._queries.list_problems(cluster))
        yield api.ExportObjectsResponse(problems=problems, sequence=shown.sequence)

    async def _ready(self, cluster: str, min_sequence: int) -> ClusterId:
        await wait_min_sequence(self._settling, min_sequence, self._query_wait)
        return self._cluster(cluster)

    def _cluster(self, cluster: str) -> ClusterId:
        if cluster and cluster not in self._clusters:
            known = ", ".join(self._clusters)
            raise Invalid(f"cluster: {cluster!r} is not kept here; known: {known}", "UNKNOWN_CLUSTER")
        return ClusterId(cluster or self._clusters[0])
