"""muster.api.provisioner.v1.ProvisionerService."""

from typing import Any

from grpc import aio

from muster.api.provisioner.v1 import provisioner_service_pb2 as api
from muster.api.provisioner.v1 import provisioner_service_pb2_grpc as rpc
from muster_eventstore import Projector
from muster_provisioner.handlers.queries import Queries
from muster_provisioner.wire.api import to_group_operation, to_order_view
from muster_servicekit.errors import Invalid
from muster_servicekit.grpc import wait_min_sequence
from muster_types import ClusterId, GangId, OrderId

Context = aio.ServicerContext[Any, Any]
NAME = api.DESCRIPTOR.services_by_name["ProvisionerService"].full_name


class ProvisionerServicer(rpc.ProvisionerServiceServicer):
    """Every answer about orders tells the sequence of `provisioning` that it reflects; an empty cluster means the first
    configured."""

    def __init__(self, queries: Queries, projector: Projector, clusters: tuple[str, ...], query_wait: float) -> None:
        self._queries = queries
        self._projector = projector
        self._clusters = clusters
        self._query_wait = query_wait

    async def ListOrders(self, request: api.ListOrdersRequest, context: Context) -> api.ListOrdersResponse:  # noqa: N802 -- the generated name
        cluster = await self._ready(request.cluster, request.min_sequence)
        orders = self._queries.orders(cluster, GangId(request.gang_id))
        return api.ListOrdersResponse(orders=map(to_order_view, orders), sequence=self._projector.position)

    async def GetOrder(self, request: api.GetOrderRequest, context: Context) -> api.GetOrderResponse:  # noqa: N802 -- the generated name
        if not request.order_id:
            raise Invalid("GetOrderRequest: order_id is empty")
        cluster = await self._ready(request.cluster, request.min_sequence)
        order = self._queries.order(cluster, OrderId(request.order_id))
        return api.GetOrderResponse(order=to_order_view(order), sequence=self._projector.position)

    async def ListOperations(  # noqa: N802 -- the generated name
        self, request: api.ListOperationsRequest, context: Context
    ) -> api.ListOperationsResponse:
        found = await self._queries.operations(self._cluster(request.cluster))
        return api.ListOperationsResponse(groups=map(to_group_operation, found))

    async def ExportState(self, request: api.ExportStateRequest, context: Context) -> api.ExportStateResponse:  # noqa: N802 -- the generated name
        cluster = await self._ready(request.cluster, request.min_sequence)
        return api.ExportStateResponse(json=self._queries.export(cluster), sequence=self._projector.position)

    async def _ready(self, cluster: str, min_sequence: int) -> ClusterId:
        await wait_min_sequence(self._projector, min_sequence, self._query_wait)
        return self._cluster(cluster)

    def _cluster(self, cluster: str) -> ClusterId:
        if cluster and cluster not in self._clusters:
            known = ", ".join(self._clusters)
            raise Invalid(f"cluster: {cluster!r} is not served here; known: {known}", "UNKNOWN_CLUSTER")
        return ClusterId(cluster or self._clusters[0])
