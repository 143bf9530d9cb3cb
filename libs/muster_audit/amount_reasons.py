"""Counters and amounts that are used up, in words."""

from muster_audit.amount_words import amount_like
from muster_audit.grounds import Grounds, Why
from muster_audit.misses import Miss
from muster_audit.wording import holders_text, listed
from muster_audit.words import Cause
from muster_dra import Reason
from muster_types import parse_quantity


def counters_why(grounds: Grounds, miss: Miss, reason: Reason) -> Why:
    """With the devices that draw although nobody publishes them any more."""
    text = f"{grounds.where(miss)}{miss.text}"
    ghosts = [
        f"{each.device.device} (held by claim {', '.join(each.claims)}) still draws although it is not published"
        for each in grounds.scene.cluster.ghosts.values()
        if reason.pool is not None and each.device.pool == reason.pool.name and each.known is not None
    ]
    if ghosts:
        text += f"; {listed(ghosts)}"
    return Why(Cause.COUNTERS_EXHAUSTED, text, miss)


def capacity_why(grounds: Grounds, miss: Miss, reason: Reason) -> Why:
    sample = _sample(grounds, reason)
    most = amount_like(parse_quantity(reason.found_amount), sample)
    needed = amount_like(parse_quantity(reason.wanted_amount), sample)
    text = f"{grounds.where(miss)}{most} of {sample} {reason.subject} left, {needed} wanted"
    if any(reason.holders):
        text += f"; held by {holders_text(reason.holders, grounds.scene.cluster)}"
    return Why(Cause.CAPACITY_EXHAUSTED, text, miss)


def _sample(grounds: Grounds, reason: Reason) -> str:
    """What the first of the devices publishes of the capacity, as written."""
    published = grounds.scene.published.devices.get(reason.devices[0]) if reason.devices else None
    capacity = published.capacity.get(reason.subject) if published is not None else None
    return capacity.value.written if capacity is not None else reason.found_amount
