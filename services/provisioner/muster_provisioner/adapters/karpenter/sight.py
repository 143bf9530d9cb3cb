"""What the claims of a group amount to: target size, instances, orders whose claims were not all created. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from muster_provisioner.adapters.karpenter.claims import Claim
from muster_provisioner.domain.group import Failure, Instance, InstanceState
from muster_provisioner.domain.messages import ShortfallClass
from muster_types import NodeName, OrderId


def missing(first: Claim, claims: Iterable[Claim]) -> int:
    """Claims of an order that are still to be created; `first` is its first one."""
    there = sum(claim.order == first.order for claim in claims)
    return max(first.creating - there, 0)


def target_of(claims: Sequence[Claim], without: OrderId | None = None) -> int:
    """The size that was asked for, orders that are being created in full; `without` leaves an order out."""
    counted = [claim for claim in claims if without is None or claim.order != without]
    return sum(claim.counts for claim in counted) + sum(missing(claim, claims) for claim in counted if claim.creating)


def overdue(claim: Claim, within: timedelta, now: datetime) -> Failure | None:
    """Own timer from registered to initialized (rule N-6.9): Karpenter has none, and waits for ever (trap T41)."""
    registered = claim.conditions.get("Registered")
    if claim.order is None or claim.deleting or not claim.registered or claim.initialized or registered is None:
        return None
    since = registered.since or claim.created_at
    if since is None or now - since < within:
        return None
    found = claim.conditions.get("Initialized")
    why = "unknown" if found is None else found.text
    waited = f"{(now - since).total_seconds():.0f} s"
    return Failure(ShortfallClass.TIMEOUT, f"{claim.name}: registered {waited} ago and not initialized: {why}")


def to_instance(claim: Claim, failure: Failure | None) -> Instance:
    """A claim as an instance; it runs once its node joined the cluster."""
    ordinal = claim.ordinal if claim.order is not None else None
    if claim.deleting and not claim.failed:
        return Instance(claim.name, claim.node, InstanceState.DELETING, claim.order, ordinal)
    runs = claim.registered and bool(claim.node) and failure is None
    state = InstanceState.RUNNING if runs else InstanceState.CREATING
    node = claim.node if runs else NodeName("")
    return Instance(claim.name, node, state, claim.order, ordinal, failure)


def first_of(claims: Iterable[Claim]) -> Mapping[OrderId, Claim]:
    """Orders whose claims were not all created, by their first claim."""
    return {claim.order: claim for claim in claims if claim.order is not None and claim.creating}
