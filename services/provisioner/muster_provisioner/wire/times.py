"""Moments as protobuf."""

from datetime import UTC, datetime

from google.protobuf.timestamp_pb2 import Timestamp


def to_timestamp(moment: datetime) -> Timestamp:
    """An aware moment."""
    stamp = Timestamp()
    stamp.FromDatetime(moment.astimezone(UTC))
    return stamp


def from_timestamp(stamp: Timestamp) -> datetime:
    """The inverse of `to_timestamp`, in UTC."""
    return stamp.ToDatetime(UTC)
