"""Requests and answers of the gRPC service: protobuf <-> domain."""

from collections.abc import Iterable, Mapping

from muster.api.matcher.v1 import matcher_service_pb2 as api
from muster_claim_matcher.domain.plans import BookedPlan, Refusal
from muster_claim_matcher.domain.views import BookingView, NodeMatch, Provisionable
from muster_claim_matcher.wire.json import NotAnObject, read_object
from muster_claim_matcher.wire.plans import to_claim, to_kind, to_placement, to_plan, to_reasons
from muster_servicekit.errors import Invalid


def from_json(field: str, items: Iterable[bytes]) -> list[Mapping[str, object]]:
    """Kubernetes objects of a request. Raises Invalid naming field and place."""
    found: list[Mapping[str, object]] = []
    for index, data in enumerate(items):
        try:
            found.append(read_object(data))
        except NotAnObject as error:
            raise Invalid(f"{field}[{index}]: {error}", "BAD_JSON") from error
    return found


def to_match(match: NodeMatch) -> api.NodeMatch:
    return api.NodeMatch(
        node=match.node,
        status=match.status.value,
        claims=map(to_claim, match.claims),
        reasons=to_reasons(match.reasons),
    )


def to_booking(view: BookingView) -> api.BookingView:
    return api.BookingView(
        gang_id=view.gang,
        attempt=view.attempt,
        confirmed=view.confirmed,
        placements=map(to_placement, view.members),
    )


def to_what_if(answer: BookedPlan | Refusal, sequence: int) -> api.WhatIfResponse:
    if isinstance(answer, BookedPlan):
        return api.WhatIfResponse(plan=to_plan(answer), sequence=sequence)
    no_plan = api.NoPlan(kind=to_kind(answer.kind), reasons=to_reasons(answer.reasons), even_empty=answer.even_empty)
    return api.WhatIfResponse(no_plan=no_plan, sequence=sequence)


def to_provisionable(each: Provisionable) -> api.ProvisionableGroup:
    return api.ProvisionableGroup(
        node_group=each.group,
        headroom_nodes=each.headroom,
        price_per_node=each.price_per_node,
        devices_per_node=each.devices_per_node,
        template_known=each.template_known,
        fits_per_node=each.fits_per_node,
        fits_total=each.fits_total,
        reasons=to_reasons(each.reasons),
        labels=dict(each.labels),
    )
