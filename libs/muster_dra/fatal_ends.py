"""What ended a search for good, in a sentence: which request, which device, which condition."""

from muster_dra.compiled import Ask, CompiledClaims
from muster_dra.found import Ended
from muster_dra.misses import attribute_text
from muster_dra.objects.slices import PoolId
from muster_dra.outcome import Fatal, FatalKind
from muster_dra.outline import Plan
from muster_dra.phrases import attribute_name, counted, device_names
from muster_dra.prepare import MAX_RESULTS
from muster_dra.selectors import SelectorError
from muster_dra.views import NodeView
from muster_types import DeviceId


def fatal_end(ended: Ended, compiled: CompiledClaims, plan: Plan, view: NodeView, steps: int) -> Fatal:
    """`plan` and `view` are those that were searched, `steps` was the budget."""
    if ended.kind is FatalKind.GAVE_UP:
        return Fatal(
            FatalKind.GAVE_UP,
            f"gave up on node {view.node.name} after {steps} devices tried: neither a solution nor a proof "
            "that there is none was found",
        )
    if ended.kind is FatalKind.TOO_MANY_DEVICES:
        return Fatal(ended.kind, _too_many(ended.request, compiled, plan))
    ask = compiled.requests[ended.request].asks[ended.option]
    slot = view.slot(ended.device)
    device = _id(view, ended.device)
    where = f"claim {compiled.claims[ask.claim].claim.full_name}, request {ask.option.full_name}"
    if ended.kind is FatalKind.ALL_CONSTRAINT:
        members = plan.content.requests[ended.request].choices[ended.option].members
        why = _refusal(ask, compiled, view, ended.device, members)
        return Fatal(ended.kind, f"{where}: all matching devices are wanted, but not device {device}: {why}")
    found = ask.selectors.match(slot.part.body.views[ended.device - slot.part.offset])
    if isinstance(found, SelectorError):
        return Fatal(ended.kind, f"{where}, device {device}: {found.sentence()}")
    return Fatal(FatalKind.NODE_SELECTOR, f"{where}: the node selector of device {device} cannot be evaluated")


def _too_many(claim: int, compiled: CompiledClaims, plan: Plan) -> str:
    """The number at least, and the request that exceeds the limit."""
    total, over = 0, ""
    for asked, planned in zip(compiled.requests, plan.content.requests, strict=True):
        if asked.claim == claim:
            total += min(choice.need for choice in planned.choices)
            if total > MAX_RESULTS and not over:
                over = f", request {asked.asks[0].option.request}"
    name = compiled.claims[claim].claim.full_name
    return f"claim {name}{over}: the claim asks for at least {counted(total)}, the limit is {MAX_RESULTS}"


def _refusal(ask: Ask, compiled: CompiledClaims, view: NodeView, device: int, members: tuple[int, ...]) -> str:
    """The constraint that the device cannot meet, beside the first of the other members that it clashes with."""
    others = members[: members.index(device)] if device in members else members
    pools = tuple(dict.fromkeys(view.slot(each).pool.id for each in (*others, device)))
    named: list[str] = []
    for number in ask.constraints:
        constraint = compiled.constraints[number]
        kind = "distinctAttribute" if constraint.distinct else "matchAttribute"
        text = f"{kind} {constraint.attribute}"
        own = _value(compiled, view, number, device)
        if own is None:
            return f"{text} wants a value and {_name(view, device, pools)} has none"
        short = attribute_name(constraint.attribute, pools)
        for other in others:
            value = _value(compiled, view, number, other)
            if value is not None and (value == own) is constraint.distinct:
                theirs = "has it too" if constraint.distinct else f"has {short}={value}"
                return f"{text}: it has {short}={own}, {_name(view, other, pools)} {theirs}"
        named.append(f"{text}: it has {short}={own}, which a device chosen before rules out")
    return "; or ".join(named)


def _value(compiled: CompiledClaims, view: NodeView, constraint: int, device: int) -> str | None:
    slot = view.slot(device)
    values = compiled.attributes(compiled.constraints[constraint].attribute, slot.part.body)
    found = values[device - slot.part.offset]
    return None if found is None else attribute_text(found)


def _name(view: NodeView, device: int, pools: tuple[PoolId, ...]) -> str:
    return device_names((_id(view, device),), pools)[0]


def _id(view: NodeView, device: int) -> DeviceId:
    slot = view.slot(device)
    return slot.pool.id.device(slot.device.name)
