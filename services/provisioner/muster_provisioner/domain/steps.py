"""What to do next about one order, from what is recorded and what the driver shows; nothing is done here.

Rule N-5.2 of the capacity notes: an increase is sent only when it certainly was not sent before. After a crash or an
answer that never came the provider's state decides: the target size grew by the order, so it was taken; it stands
where it was, so wait one settle window, look again, send; anything else is another writer's doing, and the instance
ids tell what came of ours.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from muster_provisioner.domain.group import Attribution, Failure, Instance, InstanceState, Sight
from muster_provisioner.domain.messages import InstanceId, Machine, ShortfallClass
from muster_provisioner.domain.order import Order, Stage


@dataclass(frozen=True, slots=True)
class Traits:
    """What a driver promises. `tags_orders`: every instance names its order. `settle`: after that time an increase
    that took effect shows in target size and instances. `order_limit`: longest time without a further node launched."""

    tags_orders: bool
    settle: timedelta
    order_limit: timedelta


@dataclass(frozen=True, slots=True)
class Awareness:
    """What this process knows of an order and no event tells; a new process knows nothing.

    `unsent`: its own intent, certainly not sent. `uncertain_since`: when it first had to wonder whether the increase
    was sent. `still_since`: since when nothing more is coming. `tidied`: closed, and its unfilled target taken back.
    """

    unsent: bool = False
    uncertain_since: datetime | None = None
    still_since: datetime | None = None
    tidied: bool = False


@dataclass(frozen=True, slots=True)
class Outlook:
    """One order against its group: its instances, and how much of the size still to come can be meant for it."""

    order: Order
    instances: tuple[Instance, ...]
    target: int
    unfilled: int
    coming: int

    @property
    def pending(self) -> tuple[Instance, ...]:
        """Instances that may still become nodes of the order."""
        return tuple(
            each
            for each in self.instances
            if each.failure is None and each.state is not InstanceState.DELETING and not self.order.knows(each.id)
        )

    @property
    def arrivals(self) -> tuple[Machine, ...]:
        """Running instances with a name whose launch is not recorded."""
        running = (each for each in self.pending if each.state is InstanceState.RUNNING and each.node)
        return tuple(Machine(each.id, each.node, each.ordinal) for each in running)

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Why instances of the order will not run."""
        return tuple(each.failure for each in self.instances if each.failure is not None)

    @property
    def unwanted(self) -> tuple[Instance, ...]:
        """Instances to give back, also those that are already on their way out."""
        return tuple(each for each in self.instances if not self.order.wants(each.id))


@dataclass(frozen=True, slots=True)
class CallIncrease:
    """Send the order to the provider."""


@dataclass(frozen=True, slots=True)
class Acknowledge:
    """Record that the provider took the order."""

    target: int


@dataclass(frozen=True, slots=True)
class Launch:
    """Record nodes that the provider runs."""

    machines: tuple[Machine, ...]


@dataclass(frozen=True, slots=True)
class CloseShort:
    """Record that the rest does not come."""

    kind: ShortfallClass
    message: str


@dataclass(frozen=True, slots=True)
class LowerTarget:
    """Take back target size that no instance stands for."""

    by: int


@dataclass(frozen=True, slots=True)
class Delete:
    """Give instances back; the target size falls with them."""

    instances: tuple[InstanceId, ...]


@dataclass(frozen=True, slots=True)
class FinishCancel:
    """Record that nothing but the kept nodes is left."""

    target: int


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to do before `until`, unless something changes; None: no time matters. `tidy`: closed and clean."""

    until: datetime | None = None
    tidy: bool = False


Step = CallIncrease | Acknowledge | Launch | CloseShort | LowerTarget | Delete | FinishCancel | Wait


def look(order: Order, sight: Sight, attribution: Attribution, others: Sequence[Order]) -> Outlook:
    """The outlook of one order; what other open orders of the group still miss is not coming for this one."""
    reserved = sum(
        attribution.unfilled(other)
        for other in others
        if other.terms.order != order.terms.order and other.stage is Stage.ACKNOWLEDGED
    )
    unfilled = attribution.unfilled(order)
    coming = min(max(sight.coming - reserved, 0), unfilled)
    return Outlook(order, attribution.of(order), sight.target, unfilled, coming)


def notice(awareness: Awareness, outlook: Outlook, now: datetime) -> Awareness:
    """What this process knows after it looked once more."""
    order = outlook.order
    if order.unresolved and not awareness.unsent and awareness.uncertain_since is None:
        return replace(awareness, uncertain_since=now)
    still = order.stage is Stage.ACKNOWLEDGED and not outlook.pending and not outlook.coming
    return replace(awareness, still_since=(awareness.still_since or now) if still else None)


def plan_step(outlook: Outlook, awareness: Awareness, traits: Traits, now: datetime) -> Step:
    """The next step of one order. A step that writes is followed by another look."""
    if outlook.order.unresolved:
        return _resolve(outlook, awareness, traits, now)
    match outlook.order.stage:
        case Stage.INTENDED | Stage.ACKNOWLEDGED:
            return _await_nodes(outlook, awareness, traits, now)
        case Stage.FILLED | Stage.SHORT | Stage.CANCELLING | Stage.CANCELLED:
            return _give_back(outlook, awareness)


def _resolve(outlook: Outlook, awareness: Awareness, traits: Traits, now: datetime) -> Step:
    order = outlook.order
    cancelling = order.stage is Stage.CANCELLING
    if outlook.instances:
        return Acknowledge(outlook.target)
    if awareness.unsent:
        return FinishCancel(outlook.target) if cancelling else CallIncrease()
    grown = outlook.target - order.baseline.target
    if grown == order.terms.count:
        return Acknowledge(outlook.target)
    settled_at = (awareness.uncertain_since or now) + traits.settle
    if now < settled_at:
        return Wait(settled_at)
    if grown and not traits.tags_orders:
        return Acknowledge(outlook.target)  # another writer's hand: from here on the instance ids decide
    if cancelling:
        return FinishCancel(outlook.target)
    if now >= order.intended_at + traits.order_limit:
        return CloseShort(ShortfallClass.TIMEOUT, f"{_limit(traits)} the provider has not taken the order")
    return CallIncrease()


def _await_nodes(outlook: Outlook, awareness: Awareness, traits: Traits, now: datetime) -> Step:
    order = outlook.order
    if outlook.arrivals:
        return Launch(outlook.arrivals)
    if outlook.failures and not outlook.pending:
        first = outlook.failures[0]
        return CloseShort(first.kind, first.message)
    limit_at = order.progressed_at + traits.order_limit
    if now >= limit_at:
        missing = order.terms.count - len(order.launched)
        return CloseShort(
            ShortfallClass.TIMEOUT, f"{_limit(traits)} {missing} of {order.terms.count} nodes are missing"
        )
    if awareness.still_since is None:
        return Wait(limit_at)
    settled_at = awareness.still_since + traits.settle
    if now < settled_at:
        return Wait(min(settled_at, limit_at))
    reason = f"the target size of {order.terms.group} is {outlook.target}: another writer lowered it, no more is coming"
    return CloseShort(ShortfallClass.OTHER, reason)


def _give_back(outlook: Outlook, awareness: Awareness) -> Step:
    order = outlook.order
    if outlook.arrivals:
        return Launch(outlook.arrivals)
    lowerable = order.may_have_effect and order.stage in (Stage.SHORT, Stage.CANCELLING) and not awareness.tidied
    if lowerable and outlook.coming:
        return LowerTarget(outlook.coming)
    leaving = tuple(each.id for each in outlook.unwanted if each.state is not InstanceState.DELETING)
    if leaving:
        return Delete(leaving)
    if order.stage is not Stage.CANCELLING:
        return Wait(tidy=not outlook.unwanted)
    return Wait() if outlook.unwanted else FinishCancel(outlook.target)


def _limit(traits: Traits) -> str:
    return f"after {traits.order_limit.total_seconds():g} s"
