"""Node groups as the inventory tells of them: protobuf -> what the drivers read."""

from collections.abc import Mapping
from typing import cast

import orjson
from google.protobuf.message import Message

from muster.events.inventory.v1 import inventory_pb2 as pb
from muster_provisioner.ports import DeclaredGroup, WithdrawnGroup
from muster_types import NodeGroupName


def from_inventory(message: Message) -> DeclaredGroup | WithdrawnGroup | None:
    """A declaration or withdrawal of a node group; None for any other event. A manifest that is no JSON object reads
    as empty, so that the driver says which field it misses."""
    match message:
        case pb.NodeGroupDeclared() as m:
            return DeclaredGroup(NodeGroupName(m.name), m.driver or "simulated", _manifest(m.json))
        case pb.NodeGroupWithdrawn() as m:
            return WithdrawnGroup(NodeGroupName(m.name))
        case _:
            return None


def _manifest(data: bytes) -> Mapping[str, object]:
    try:
        body = orjson.loads(data)
    except orjson.JSONDecodeError:
        return {}
    return cast("Mapping[str, object]", body) if isinstance(body, dict) else {}
