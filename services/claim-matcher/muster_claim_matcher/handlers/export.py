"""The ledger as canonical JSON: equal states give equal bytes, whichever way they came about."""

from collections.abc import Iterable

import orjson

from muster_claim_matcher.domain.ledger import Booking, Ledger
from muster_claim_matcher.domain.plans import Member
from muster_plan import ExistingNode, PlannedClaim, Target
from muster_types import ClusterId, format_quantity

Json = dict[str, object]


def export_state(cluster: ClusterId, ledger: Ledger) -> bytes:
    """The fold of the ledger's events: every gang ever seen, and what each holds."""
    state: Json = {
        "cluster": cluster,
        "gangs": {
            gang: {
                "answered": standing.answered,
                "verified": standing.verified,
                "released": standing.release_cause,
                "booking": None if standing.booking is None else _booking(standing.booking),
            }
            for gang, standing in ledger.gangs.items()
        },
    }
    return orjson.dumps(state, option=orjson.OPT_SORT_KEYS)


def _booking(booking: Booking) -> Json:
    return {
        "attempt": booking.attempt,
        "confirmed": booking.confirmed,
        "cost": booking.plan.cost,
        "domain": booking.plan.domain,
        "orders": {order.group: order.count for order in booking.orders},
        "members": _members(booking.members),
        "survival": booking.plan.survival.value,
        "pins": [
            {
                "kind": pin.kind.value,
                "podSet": pin.pod_set,
                "index": pin.index,
                **_target(pin.target),
                "why": pin.why,
            }
            for pin in booking.plan.pins
        ],
        "unplaced": [{"podSet": pod_set, "index": index} for pod_set, index in booking.plan.unplaced],
        "assumptions": list(booking.plan.assumptions),
    }


def _members(members: Iterable[Member]) -> list[Json]:
    return [
        {
            "podSet": member.pod_set,
            "index": member.index,
            **_target(member.target),
            "claims": [_claim(claim) for claim in member.claims],
            "resources": {name: format_quantity(amount) for name, amount in member.resources},
        }
        for member in members
    ]


def _target(target: Target) -> Json:
    if isinstance(target, ExistingNode):
        return {"node": target.name}
    return {"group": target.group, "ordinal": target.ordinal}


def _claim(claim: PlannedClaim) -> Json:
    return {
        "name": claim.name,
        "shared": claim.shared,
        "existing": claim.existing,
        "devices": [
            {
                "request": result.request,
                "device": str(result.device),
                "adminAccess": result.admin_access,
                "share": result.share,
                "consumed": {name: format_quantity(amount) for name, amount in result.consumed},
            }
            for result in claim.results
        ],
    }
