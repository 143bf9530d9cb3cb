"""Labels and the reservation of nodes whose driver could not tag them: put on each node once, after its launch.

A read model of the provisioner's own stream says which nodes those are; what is marked already is left alone, so that
a reservation that was lifted stays lifted.
"""

import asyncio
from collections.abc import Callable, Mapping

import structlog
from google.protobuf.message import Message

from muster_eventstore import Decoded, StoredMessage, TransientError
from muster_provisioner.domain.messages import Event, NodeLaunched, OrderCancelled, OrderIntended
from muster_provisioner.handlers.subjects import cluster_of
from muster_provisioner.ports import DriverError, Drivers, NodeMark, NodeMarker
from muster_servicekit.clock import Clock
from muster_types import ClusterId, NodeGroupName, NodeName, OrderId

log = structlog.get_logger("muster.node_marks")

_RETRY = 1.0  # seconds
_Key = tuple[ClusterId, NodeName]


class NodeMarks:
    """What is still to be marked. `run` must be running."""

    def __init__(
        self,
        read: Callable[[Message], Event],
        markers: Mapping[ClusterId, NodeMarker],
        drivers: Mapping[ClusterId, Drivers],
        clock: Clock,
    ) -> None:
        self._read = read
        self._markers = markers
        self._drivers = drivers
        self._clock = clock
        self._groups: dict[tuple[ClusterId, OrderId], NodeGroupName] = {}
        self._wanted: dict[_Key, NodeMark] = {}
        self._wake = asyncio.Event()

    def apply(self, message: StoredMessage, decoded: Decoded) -> None:
        """Take one batch of an order in."""
        cluster = cluster_of(message.subject)
        if cluster is None or cluster not in self._markers:
            return
        for event in map(self._read, decoded.batch.events):
            match event:
                case OrderIntended(terms):
                    self._groups[cluster, terms.order] = terms.group
                case NodeLaunched(order, gang, _, node, ordinal):
                    group = self._groups.get((cluster, order))
                    if group is not None:
                        self._wanted[cluster, node] = NodeMark(order, gang, group, ordinal)
                        self._wake.set()
                case OrderCancelled(deleted_nodes=deleted):
                    for node in deleted:
                        self._wanted.pop((cluster, node), None)
                case _:
                    pass

    async def run(self) -> None:
        """Mark nodes as they are launched, until cancelled."""
        self._wake.set()
        while True:
            await self._wake.wait()
            self._wake.clear()
            for key in sorted(self._wanted):
                await self._mark(key)
            if self._wanted:
                await self._clock.sleep(_RETRY)
                self._wake.set()

    async def _mark(self, key: _Key) -> None:
        cluster, node = key
        mark = self._wanted.get(key)
        if mark is None:
            return
        driver = self._drivers[cluster].keeper_of(mark.group)
        if driver is None:
            return  # its group is not declared yet
        try:
            if not driver.traits(mark.group).tags_orders:
                await self._markers[cluster].mark(node, mark)
        except (TransientError, DriverError) as error:
            log.warning("a node is marked later", cluster=cluster, node=node, order=mark.order, error=str(error))
            return
        if self._wanted.get(key) == mark:
            del self._wanted[key]
