"""What the cluster watcher sends, as an AsyncAPI document. It reads no stream but its own."""

from collections.abc import Mapping

from muster.events.observed.v1 import observed_pb2 as pb
from muster_cluster_watcher.wire.observed import CONTEXT, PROBLEM, SYNC
from muster_eventstore import event_filter
from muster_servicekit.asyncapi import Channel
from muster_servicekit.faststream_edge import describe_service

SENT = (
    Channel(
        "observed-objects",
        event_filter(CONTEXT),
        (pb.ObjectObserved, pb.ObjectRemoved),
        "The newest fact about each object, on `muster.observed.<cluster>.<Kind>.<namespace>.<name>`.",
    ),
    Channel(
        "observed-problems",
        event_filter(CONTEXT, kind=PROBLEM),
        (pb.InputRejected, pb.InputMended),
        "Inputs that cannot be read, and warnings about those that can.",
    ),
    Channel(
        "observed-syncs",
        event_filter(CONTEXT, kind=SYNC),
        (pb.SyncCompleted,),
        "A whole list has been reported; what was not in it is gone.",
    ),
)


def document() -> Mapping[str, object]:
    """The AsyncAPI 3.0 document."""
    return describe_service("cluster-watcher", "What the clusters show.", received=(), sent=SENT)
