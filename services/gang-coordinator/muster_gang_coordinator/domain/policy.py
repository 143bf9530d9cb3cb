"""How long the saga waits and how often it tries: chosen once at the start of the service."""

from dataclasses import dataclass
from datetime import timedelta
from enum import Enum, unique


@unique
class TrialOrders(Enum):
    """What is ordered first from a group whose template no arrival has confirmed and nobody answers for. With trials,
    nothing at all is ordered on a template that an arrival has proved wrong."""

    OFF = "off"
    ONE_NODE_FIRST = "one node first"


@dataclass(frozen=True, slots=True)
class SagaPolicy:
    """Deadlines of group-capacity §8.2; node and device deadlines both count from the order."""

    template_wait: timedelta = timedelta(seconds=60)
    node_deadline: timedelta = timedelta(minutes=15)
    device_deadline: timedelta = timedelta(minutes=30)
    request_lifetime: timedelta = timedelta(days=7)
    retry_after: timedelta = timedelta(minutes=5)
    # How long bookings of others may keep a gang waiting before it is planned ahead of all that come behind it.
    patience: timedelta = timedelta(minutes=5)
    # How long a node with members may be NotReady before it counts as gone.
    unready_grace: timedelta = timedelta(minutes=2)
    # How long what has arrived for a deleted request is held for the workload's next attempt.
    successor_hold: timedelta = timedelta(minutes=5)
    # Replannings after a shortfall, a loss or a failed verification before the gang gives up.
    max_setbacks: int = 5
    trial_orders: TrialOrders = TrialOrders.ONE_NODE_FIRST
