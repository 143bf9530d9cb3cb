"""The read side -> muster.api.capacity.v1."""

import base64
import binascii
from datetime import datetime

from muster.api.capacity.v1 import capacity_service_pb2 as pb
from muster.type.v1 import plan_pb2
from muster_gang_coordinator.domain.capacity import ProvisionableGroup
from muster_gang_coordinator.domain.orders import Order
from muster_gang_coordinator.domain.pinning import settle_pins
from muster_gang_coordinator.domain.plans import NoPlanKind, Placement, Reason
from muster_gang_coordinator.domain.progress import progress
from muster_gang_coordinator.domain.refusals import NO_PLAN_CODES
from muster_gang_coordinator.domain.states import Compensating, Consumed, Ended, Known, Ready, Waiting
from muster_gang_coordinator.wire.plans import to_kind, to_pin, to_placement, to_reasons, to_time, to_unplaced
from muster_gang_coordinator.wire.states import to_state
from muster_servicekit.errors import Invalid
from muster_types import GangId


def to_view(gang_id: GangId, gang: Known, change_time: datetime) -> pb.GangView:
    """A gang for people and programs."""
    saga = gang.saga
    kind, plan, placements = _no_plan(gang), saga.plan, _placements(gang)
    return pb.GangView(
        gang_id=gang_id,
        namespace=saga.spec.namespace,
        name=saga.spec.name,
        state=to_state(gang),
        attempt=saga.attempt,
        pod_count=saga.spec.pod_count,
        bound_pods=len(saga.bound),
        message=progress(gang),
        reasons=to_reasons(_reasons(gang)),
        no_plan_kind=plan_pb2.NO_PLAN_KIND_UNSPECIFIED if kind is None else to_kind(kind),
        orders=[_to_order(o) for o in saga.orders],
        placements=[to_placement(p) for p in placements],
        cost=0.0 if plan is None else plan.cost,
        details=dict(gang.details) if isinstance(gang, Ready | Consumed) else {},
        request_time=to_time(saga.request_time),
        change_time=to_time(change_time),
        pins=[] if plan is None else [to_pin(p) for p in settle_pins(plan.pins, placements)],
        unplaced=to_unplaced(plan.unplaced if plan and placements else ()),
        assumptions=plan.assumptions if plan and placements else (),
    )


def to_group(group: ProvisionableGroup) -> pb.ProvisionableGroup:
    return pb.ProvisionableGroup(
        node_group=group.node_group,
        headroom_nodes=group.headroom_nodes,
        price_per_node=group.price_per_node,
        devices_per_node=group.devices_per_node,
        template_known=group.template_known,
        fits_per_node=group.fits_per_node,
        fits_total=group.fits_total,
        reasons=to_reasons(group.reasons),
        labels=dict(group.labels),
    )


def to_page_token(after: GangId | None) -> str:
    """Opaque to callers; empty at the end."""
    return "" if after is None else base64.urlsafe_b64encode(after.encode()).decode()


def from_page_token(token: str) -> GangId | None:
    """Raises Invalid for a token that this service did not give out."""
    try:
        return GangId(base64.b64decode(token, altchars=b"-_", validate=True).decode()) if token else None
    except (binascii.Error, UnicodeDecodeError) as error:
        raise Invalid("page_token: this service did not give it out; begin without one", "BAD_PAGE_TOKEN") from error


def _to_order(order: Order) -> pb.OrderView:
    return pb.OrderView(
        order_id=order.id,
        node_group=order.node_group,
        count=order.count,
        state=order.state.value,
        nodes=sorted(order.known),
        arrived_nodes=[a.node for a in order.present],
    )


def _placements(gang: Known) -> tuple[Placement, ...]:
    match gang:
        case Ready(placements=placements) | Consumed(placements=placements):
            return placements
        case Ended() | Compensating() | Waiting():
            return ()
        case _:
            return () if gang.saga.plan is None else gang.saga.plan.placements


def _reasons(gang: Known) -> tuple[Reason, ...]:
    match gang:
        case Waiting(reasons=reasons) | Compensating(reasons=reasons) | Ended(reasons=reasons):
            return reasons
        case _:
            return ()


def _no_plan(gang: Known) -> NoPlanKind | None:
    if isinstance(gang, Waiting):
        return gang.kind
    codes = {r.code for r in _reasons(gang)}
    return next((kind for kind, code in NO_PLAN_CODES.items() if code in codes), None)
