"""Shared nouns as frozen values; no I/O, no wire format."""

from muster_types.ids import (
    ClusterId,
    DeviceId,
    GangId,
    NodeGroupName,
    NodeName,
    ObjectKey,
    OrderId,
    PodSetName,
)
from muster_types.quantity import NANO, InvalidQuantity, Nano, format_quantity, parse_quantity, to_integer, to_milli

__all__ = [
    "NANO",
    "ClusterId",
    "DeviceId",
    "GangId",
    "InvalidQuantity",
    "Nano",
    "NodeGroupName",
    "NodeName",
    "ObjectKey",
    "OrderId",
    "PodSetName",
    "format_quantity",
    "parse_quantity",
    "to_integer",
    "to_milli",
]
