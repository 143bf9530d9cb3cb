"""The claim-matcher over gRPC, for questions about capacity that could be added."""

from collections.abc import Callable

import grpc
from grpc import aio

from muster.api.matcher.v1 import matcher_service_pb2 as pb
from muster.api.matcher.v1 import matcher_service_pb2_grpc as rpc
from muster_eventstore import TransientError
from muster_gang_coordinator.domain.capacity import Provisionable, ProvisionableGroup
from muster_gang_coordinator.wire.plans import from_reasons
from muster_servicekit.errors import Invalid
from muster_servicekit.grpc_client import ClientTls, open_channel
from muster_types import ClusterId, NodeGroupName

_DEADLINE = 10.0


class MatcherClient:
    """`address` says where the matcher listens now: it may move when it is started again."""

    def __init__(self, address: Callable[[], str], tls: ClientTls | None = None) -> None:
        self._address = address
        self._tls = tls
        self._channels: dict[str, aio.Channel] = {}

    async def close(self) -> None:
        """Close every channel."""
        for channel in self._channels.values():
            await channel.close()
        self._channels.clear()

    async def list_groups(self, cluster: ClusterId, claims_json: tuple[bytes, ...], min_sequence: int) -> Provisionable:
        address = self._address()
        channel = self._channels.get(address)
        if channel is None:
            channel = self._channels[address] = open_channel(address, self._tls)
        request = pb.ListProvisionableCapacityRequest(
            cluster=cluster, min_sequence=min_sequence, claims_json=claims_json
        )
        try:
            answer = await rpc.MatcherServiceStub(channel).ListProvisionableCapacity(request, timeout=_DEADLINE)
        except aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.INVALID_ARGUMENT:
                raise Invalid(error.details() or "claims_json: the claim-matcher refuses it") from error
            raise TransientError(
                f"the claim-matcher at {address} does not answer ({error.code().name}: {error.details()}); "
                "see whether it runs, then ask again"
            ) from error
        return Provisionable(tuple(_group(g) for g in answer.groups), answer.sequence)


def _group(group: pb.ProvisionableGroup) -> ProvisionableGroup:
    return ProvisionableGroup(
        NodeGroupName(group.node_group),
        group.headroom_nodes,
        group.price_per_node,
        group.devices_per_node,
        group.template_known,
        group.fits_per_node,
        group.fits_total,
        from_reasons(group.reasons),
        tuple(sorted(group.labels.items())),
    )
