"""Orders, instances and moments that the tests of this folder speak about; every field can be overridden."""

from datetime import UTC, datetime, timedelta

from muster_provisioner.domain.group import Failure, Instance, InstanceState
from muster_provisioner.domain.messages import (
    Baseline,
    InstanceId,
    NodeLaunched,
    OrderAcknowledged,
    OrderIntended,
    OrderTerms,
)
from muster_provisioner.domain.steps import Traits
from muster_types import GangId, NodeGroupName, NodeName, OrderId

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
ORDER_1 = OrderId("train-1a2b3c-a1-1")
GANG = GangId("train-1a2b3c")
GROUP = NodeGroupName("h100-r7")
TERMS = OrderTerms(ORDER_1, GANG, GROUP, 3, 2)
BASELINE = Baseline(2, (InstanceId("i-old-0"), InstanceId("i-old-1")))
INTENDED = OrderIntended(TERMS, BASELINE, NOON)
ACKNOWLEDGED = OrderAcknowledged(ORDER_1, 5, NOON)
TAGGING = Traits(tags_orders=True, settle=timedelta(seconds=10), order_limit=timedelta(minutes=15))
UNTAGGED = Traits(tags_orders=False, settle=timedelta(seconds=10), order_limit=timedelta(minutes=15))


def after(seconds: float) -> datetime:
    """A moment after noon."""
    return NOON + timedelta(seconds=seconds)


def node(ordinal: int) -> NodeName:
    return NodeName(f"h100-r7-abcde-{ordinal}")


def instance_id(ordinal: int) -> InstanceId:
    return InstanceId(f"i-{ordinal}")


def launched(ordinal: int, at: datetime = NOON) -> NodeLaunched:
    return NodeLaunched(ORDER_1, GANG, instance_id(ordinal), node(ordinal), ordinal, at)


def an_instance(
    ordinal: int,
    state: InstanceState = InstanceState.RUNNING,
    *,
    tagged: OrderId | None = ORDER_1,
    failure: Failure | None = None,
) -> Instance:
    return Instance(
        instance_id(ordinal), node(ordinal), state, tagged, ordinal if tagged is not None else None, failure
    )


OLD = (
    Instance(InstanceId("i-old-0"), NodeName("old-0"), InstanceState.RUNNING),
    Instance(InstanceId("i-old-1"), NodeName("old-1"), InstanceState.RUNNING),
)
