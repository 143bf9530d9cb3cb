"""Node groups as the inventory declares them, handed to the drivers; a read model of the inventory's stream."""

from collections.abc import Callable, Mapping

import structlog
from google.protobuf.message import Message

from muster_eventstore import Decoded, StoredMessage
from muster_provisioner.handlers.subjects import cluster_of
from muster_provisioner.ports import DeclaredGroup, Drivers, Unserved, WithdrawnGroup
from muster_types import ClusterId, NodeGroupName

log = structlog.get_logger("muster.node_groups")


class DeclaredGroups:
    """Keeps the drivers of each cluster told. `changed` is called after each change of a group."""

    def __init__(
        self,
        read: Callable[[Message], DeclaredGroup | WithdrawnGroup | None],
        drivers: Mapping[ClusterId, Drivers],
        changed: Callable[[ClusterId, NodeGroupName], None],
    ) -> None:
        self._read = read
        self._drivers = drivers
        self._changed = changed

    def apply(self, message: StoredMessage, decoded: Decoded) -> None:
        """Take one batch of the inventory in."""
        cluster = cluster_of(message.subject)
        drivers = None if cluster is None else self._drivers.get(cluster)
        if cluster is None or drivers is None:
            return
        for found in map(self._read, decoded.batch.events):
            match found:
                case DeclaredGroup(name):
                    drivers.declare(found)
                    served = drivers.of(name)
                    if isinstance(served, Unserved):
                        log.warning("node group is not served", cluster=cluster, group=name, reason=served.reason)
                case WithdrawnGroup(name):
                    drivers.withdraw(name)
                case None:
                    continue
            self._changed(cluster, name)
