"""Where the provisioner's aggregates stand: muster.provisioning.<cluster>.order.<order id>."""

from muster_eventstore.subjects import EventSubject, event_filter, event_subject, parse_event
from muster_types import ClusterId, OrderId

STREAM = "provisioning"
SOURCE = "/muster/provisioner"
_ORDER = "order"


def order_subject(cluster: ClusterId, order: OrderId) -> str:
    """Subject of one order."""
    return event_subject(STREAM, cluster, _ORDER, order)


def orders_filter(cluster: ClusterId | None = None) -> str:
    """All orders, of one cluster or of all."""
    return event_filter(STREAM, cluster, _ORDER)


def cluster_of(subject: str) -> ClusterId | None:
    """The cluster that an order's or node group's subject names; None for a subject of another form."""
    parsed = parse_event(subject)
    return ClusterId(parsed.cluster) if isinstance(parsed, EventSubject) else None
