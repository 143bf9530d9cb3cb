"""muster.api.matcher.v1.MatcherService."""

from collections.abc import Iterable
from typing import Any

from grpc import aio

from muster.api.matcher.v1 import matcher_service_pb2 as api
from muster.api.matcher.v1 import matcher_service_pb2_grpc as rpc
from muster_claim_matcher.domain.wishes import Json
from muster_claim_matcher.entrypoints.commands import LedgerPosition
from muster_claim_matcher.handlers.queries import Queries, Supposed
from muster_claim_matcher.ports import Observations
from muster_claim_matcher.wire import api as wire
from muster_claim_matcher.wire.commands import from_spec
from muster_eventstore import PermanentError
from muster_servicekit.errors import Invalid
from muster_servicekit.grpc import wait_min_sequence
from muster_types import ClusterId, NodeGroupName, NodeName

Context = aio.ServicerContext[Any, Any]
NAME = api.DESCRIPTOR.services_by_name["MatcherService"].full_name


class MatcherServicer(rpc.MatcherServiceServicer):
    """Every answer tells the sequence that it reflects; an empty cluster means the first configured."""

    def __init__(
        self,
        *,
        queries: Queries,
        observations: Observations,
        recorded: LedgerPosition,
        clusters: tuple[str, ...],
        query_wait: float,
    ) -> None:
        self._queries = queries
        self._observations = observations
        self._recorded = recorded
        self._clusters = clusters
        self._query_wait = query_wait

    async def Match(self, request: api.MatchRequest, context: Context) -> api.MatchResponse:  # noqa: N802 -- the generated name
        cluster = await self._ready(request.cluster, request.min_sequence)
        nodes = tuple(map(NodeName, request.nodes))
        matches, sequence = await self._queries.match(cluster, _claims(request.claims_json), nodes, request.limit)
        return api.MatchResponse(matches=map(wire.to_match, matches), sequence=sequence)

    async def Explain(self, request: api.ExplainRequest, context: Context) -> api.ExplainResponse:  # noqa: N802 -- the generated name
        cluster = await self._ready(request.cluster, request.min_sequence)
        if not request.node:
            raise Invalid("node: is required", "BAD_REQUEST")
        claims = _claims(request.claims_json)
        match, sequence = await self._queries.explain(cluster, claims, NodeName(request.node))
        return api.ExplainResponse(match=wire.to_match(match), sequence=sequence)

    async def WhatIf(self, request: api.WhatIfRequest, context: Context) -> api.WhatIfResponse:  # noqa: N802 -- the generated name
        cluster = await self._ready(request.cluster, request.min_sequence)
        try:
            wish = from_spec(request.spec, request.spec.name)
        except PermanentError as error:
            raise Invalid(error.detail, error.reason) from error
        supposed = Supposed(
            node_groups=tuple(wire.from_json("node_groups_json", request.node_groups_json)),
            nodes_gone=tuple(map(NodeName, request.nodes_gone)),
            excluded=tuple(map(NodeGroupName, request.excluded_node_groups)),
        )
        answer, sequence = await self._queries.what_if(cluster, wish, supposed)
        return wire.to_what_if(answer, sequence)

    async def ListBookings(self, request: api.ListBookingsRequest, context: Context) -> api.ListBookingsResponse:  # noqa: N802 -- the generated name
        cluster = await self._ready(request.cluster, request.min_sequence)
        bookings = self._queries.list_bookings(cluster)
        return api.ListBookingsResponse(bookings=map(wire.to_booking, bookings), sequence=self._observations.position)

    async def ListProvisionableCapacity(  # noqa: N802 -- the generated name
        self, request: api.ListProvisionableCapacityRequest, context: Context
    ) -> api.ListProvisionableCapacityResponse:
        cluster = await self._ready(request.cluster, request.min_sequence)
        claims = wire.from_json("claims_json", request.claims_json)
        groups, sequence = await self._queries.list_provisionable(cluster, claims)
        return api.ListProvisionableCapacityResponse(groups=map(wire.to_provisionable, groups), sequence=sequence)

    async def ExportState(self, request: api.ExportStateRequest, context: Context) -> api.ExportStateResponse:  # noqa: N802 -- the generated name
        await wait_min_sequence(self._recorded, request.min_sequence, self._query_wait)
        json = self._queries.export(self._cluster(request.cluster))
        return api.ExportStateResponse(json=json, sequence=self._recorded.position)

    async def _ready(self, cluster: str, min_sequence: int) -> ClusterId:
        await wait_min_sequence(self._observations, min_sequence, self._query_wait)
        return self._cluster(cluster)

    def _cluster(self, cluster: str) -> ClusterId:
        if cluster and cluster not in self._clusters:
            known = ", ".join(self._clusters)
            raise Invalid(f"cluster: {cluster!r} is not kept here; known: {known}", "UNKNOWN_CLUSTER")
        return ClusterId(cluster or self._clusters[0])


def _claims(items: Iterable[bytes]) -> list[Json]:
    claims = wire.from_json("claims_json", items)
    if not claims:
        raise Invalid("claims_json: at least one claim is required", "BAD_REQUEST")
    return claims
