"""How near a constraint came to being met: the best value, how many devices share it, and one that does not."""

from dataclasses import replace

from muster_dra.allocated import AllocatedState
from muster_dra.attributes import Attribute
from muster_dra.funnel_sharing import pools_in
from muster_dra.phrases import listed
from muster_dra.plan_content import bits_of
from muster_dra.reasons import Reason, ReasonCode
from muster_dra.situation import Option
from muster_dra.subproblems import Subproblems
from muster_dra.views import NodeView
from muster_types import DeviceId


def constraint_reason(
    parts: Subproblems, view: NodeView, allocated: AllocatedState, claim: int, constraint: int
) -> Reason:
    """Why one constraint cannot be met by the free devices, with the nearest miss."""
    table, prepared = parts.content.constraints[constraint], parts.compiled.constraints[constraint]
    under = _under(parts, claim, constraint)
    options = [min(parts.whole.options[number], key=lambda option: option.need) for number in under]
    wanted = sum(option.need for option in options)
    publishing = 0
    for option in options:
        publishing |= _candidates(option)
    requests = [parts.compiled.requests[number].asks[0].option.request for number in under]
    about = Reason(
        ReasonCode.MATCH_UNMET,
        parts.compiled.claims[claim].claim.full_name,
        requests[0] if len(requests) == 1 else "",
        subject=prepared.attribute,
        wanted=wanted,
        requests=tuple(requests) if len(requests) > 1 else (),
        pools=pools_in(view, parts.candidates(under)),
    )
    if publishing.bit_count() < wanted and not publishing & parts.content.shared:
        return replace(about, code=ReasonCode.ATTRIBUTE_MISSING, found=publishing.bit_count())
    if table.distinct:
        values = dict.fromkeys(_text(parts, view, constraint, device) for device in bits_of(publishing & table.first))
        found = parts.reach(under, (constraint,))
        return replace(about, code=ReasonCode.DISTINCT_UNMET, found=found, value=listed(values))
    best: list[int] = []
    group = 0
    for candidate in table.groups:
        served = _served(options, candidate, parts.content.shared)
        if len(served) > len(best):
            best, group = served, candidate
    if len(best) >= wanted:  # by number there are enough: amounts or counters are short
        best = best[: parts.reach(under, (constraint,))]
    others = list(bits_of(publishing & ~group))
    evidence = [*best, *others[:1]]
    held = _held(view, allocated, options, group)
    return replace(
        about,
        found=len(best),
        value=_text(parts, view, constraint, best[0]) if best else "",
        other_value=_text(parts, view, constraint, others[0]) if others else "",
        devices=tuple(_id(view, device) for device in evidence),
        holders=held,
    )


def _id(view: NodeView, device: int) -> DeviceId:
    slot = view.slot(device)
    return slot.pool.id.device(slot.device.name)


def _under(parts: Subproblems, claim: int, constraint: int) -> list[int]:
    """The claim's requests that are under the constraint whatever alternative is chosen."""
    return [
        number
        for number in parts.requests_of(claim)
        if all(constraint in choice.constraints for choice in parts.content.requests[number].choices)
    ]


def _candidates(option: Option) -> int:
    if not option.choice.every:
        return option.candidates
    mask = 0
    for member in option.members:
        mask |= 1 << member
    return mask


def _served(options: list[Option], group: int, shared: int) -> list[int]:
    """Devices of the group given to the requests in turn, each exclusive one once."""
    taken, served = 0, list[int]()
    for option in sorted(options, key=lambda option: (_candidates(option) & group).bit_count()):
        for count, device in enumerate(bits_of(_candidates(option) & group & ~taken)):
            if count == option.need:
                break
            served.append(device)
            taken |= (1 << device) & ~shared
    return served


def _held(view: NodeView, allocated: AllocatedState, options: list[Option], group: int) -> tuple[str, ...]:
    """Who holds devices of the group that the requests could take otherwise."""
    holders: set[str] = set()
    for option in options:
        for device in bits_of(option.choice.candidates & ~option.candidates & group):
            slot = view.slot(device)
            holders.update(allocated.use(slot.pool.id).holders(slot.device.name))
    return tuple(sorted(holders))


def _text(parts: Subproblems, view: NodeView, constraint: int, device: int) -> str:
    slot = view.slot(device)
    values = parts.compiled.attributes(parts.compiled.constraints[constraint].attribute, slot.part.body)
    return attribute_text(values[device - slot.part.offset])


def attribute_text(attribute: Attribute | None) -> str:
    """The value as a person would write it."""
    value = attribute.value if attribute is not None else None
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_scalar, value)) + "]"
    return _scalar(value)


def _scalar(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
