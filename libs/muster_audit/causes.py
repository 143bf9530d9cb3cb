"""The engine's reasons in the words of an audit, and which of several nodes came nearest."""

from collections.abc import Mapping
from dataclasses import dataclass

from muster_audit.mending import Inconsistent
from muster_audit.words import Cause
from muster_dra import FatalKind, PoolDefect, PoolId, Reason, ReasonCode

_CAUSES: Mapping[ReasonCode, Cause] = {
    ReasonCode.NO_DEVICES: Cause.NO_INVENTORY,
    ReasonCode.POOL_INCOMPLETE: Cause.POOL_INCOMPLETE,
    ReasonCode.POOL_INVALID: Cause.POOL_INVALID,
    ReasonCode.DEVICES_IGNORED: Cause.POOL_INVALID,
    ReasonCode.CLASS_MATCHES_NOTHING: Cause.NO_INVENTORY,
    ReasonCode.SELECTOR_MATCHES_NOTHING: Cause.SELECTOR_MISMATCH,
    ReasonCode.TOO_FEW_MATCH: Cause.TOPOLOGY_MISMATCH,
    ReasonCode.BOUND_ELSEWHERE: Cause.TOPOLOGY_MISMATCH,
    ReasonCode.FEATURE_OFF: Cause.POLICY_VIOLATION,
    ReasonCode.CAPACITY_MISSING: Cause.ATTRIBUTE_MISSING,
    ReasonCode.CAPACITY_TOO_SMALL: Cause.CAPACITY_EXHAUSTED,
    ReasonCode.CAPACITY_POLICY: Cause.POLICY_VIOLATION,
    ReasonCode.CAPACITY_USED: Cause.CAPACITY_EXHAUSTED,
    ReasonCode.TAINTED: Cause.TAINT,
    ReasonCode.HELD: Cause.SHORTAGE,
    ReasonCode.COUNTERS_USED: Cause.COUNTERS_EXHAUSTED,
    ReasonCode.COUNTERS_SHARED: Cause.COUNTERS_EXHAUSTED,
    ReasonCode.ATTRIBUTE_MISSING: Cause.ATTRIBUTE_MISSING,
    ReasonCode.MATCH_UNMET: Cause.TOPOLOGY_MISMATCH,
    ReasonCode.DISTINCT_UNMET: Cause.TOPOLOGY_MISMATCH,
    ReasonCode.CONSTRAINTS_CLASH: Cause.TOPOLOGY_MISMATCH,
    ReasonCode.REQUESTS_COMPETE: Cause.SHORTAGE,
    ReasonCode.CLAIMS_COMPETE: Cause.SHORTAGE,
    ReasonCode.ALL_IN_USE: Cause.SHORTAGE,
    ReasonCode.ALL_OF_NONE: Cause.NO_INVENTORY,
    ReasonCode.NO_ALTERNATIVE: Cause.SHORTAGE,
    ReasonCode.NO_COMBINATION: Cause.TOPOLOGY_MISMATCH,
    ReasonCode.TOO_MANY_DEVICES: Cause.API_LIMIT,
}

# How far a condition is from being met, by what would have to change: the lower, the nearer. What is odd about the
# inventory comes before what is ordinary: a shortage is only true when nothing of the kind is there to be had.
_POOLS, _DEVICE_TAINT, _SHAPE_NOW, _HELD, _SHAPE, _SELECTOR, _CLASS, _NOTHING = range(8)

_RANKS: Mapping[ReasonCode, int] = {
    ReasonCode.POOL_INCOMPLETE: _POOLS,
    ReasonCode.POOL_INVALID: _POOLS,
    ReasonCode.DEVICES_IGNORED: _POOLS,
    ReasonCode.TAINTED: _DEVICE_TAINT,
    ReasonCode.MATCH_UNMET: _SHAPE_NOW,
    ReasonCode.CONSTRAINTS_CLASH: _SHAPE_NOW,
    ReasonCode.DISTINCT_UNMET: _SHAPE_NOW,
    ReasonCode.HELD: _HELD,
    ReasonCode.ALL_IN_USE: _HELD,
    ReasonCode.COUNTERS_USED: _HELD,
    ReasonCode.COUNTERS_SHARED: _HELD,
    ReasonCode.CAPACITY_USED: _HELD,
    ReasonCode.REQUESTS_COMPETE: _HELD,
    ReasonCode.CLAIMS_COMPETE: _HELD,
    ReasonCode.NO_ALTERNATIVE: _HELD,
    ReasonCode.NO_COMBINATION: _HELD,
    ReasonCode.TOO_FEW_MATCH: _SHAPE,
    ReasonCode.BOUND_ELSEWHERE: _SHAPE,
    ReasonCode.CAPACITY_TOO_SMALL: _SHAPE,
    ReasonCode.CAPACITY_POLICY: _SHAPE,
    ReasonCode.CAPACITY_MISSING: _SHAPE,
    ReasonCode.ATTRIBUTE_MISSING: _SHAPE,
    ReasonCode.FEATURE_OFF: _SHAPE,
    ReasonCode.TOO_MANY_DEVICES: _SHAPE,
    ReasonCode.SELECTOR_MATCHES_NOTHING: _SELECTOR,
    ReasonCode.CLASS_MATCHES_NOTHING: _CLASS,
    ReasonCode.ALL_OF_NONE: _CLASS,
    ReasonCode.NO_DEVICES: _NOTHING,
}

_DRAWN = frozenset({ReasonCode.COUNTERS_USED, ReasonCode.COUNTERS_SHARED, ReasonCode.CAPACITY_USED})
"""Among conditions of one rank these say more than that devices are held: others could be, if they left enough."""

FATAL_CAUSES: Mapping[FatalKind, Cause] = {
    FatalKind.FEATURE_DISABLED: Cause.POLICY_VIOLATION,
    FatalKind.CLASS_MISSING: Cause.CLASS_MISSING,
    FatalKind.CLASS_UNNAMED: Cause.CLASS_MISSING,
    FatalKind.SELECTOR_EMPTY: Cause.INVALID_OBJECT,
    FatalKind.MODE_UNKNOWN: Cause.INVALID_OBJECT,
    FatalKind.CONSTRAINT_EMPTY: Cause.INVALID_OBJECT,
    FatalKind.TOO_MANY_DEVICES: Cause.API_LIMIT,
    FatalKind.POOL_NOT_USABLE: Cause.POOL_INCOMPLETE,
    FatalKind.ALL_CONSTRAINT: Cause.TOPOLOGY_MISMATCH,
    FatalKind.EXPRESSION: Cause.SELECTOR_ERROR,
    FatalKind.NODE_SELECTOR: Cause.INVALID_OBJECT,
    FatalKind.NODE_SELECTOR_TERMS: Cause.INVALID_OBJECT,
    FatalKind.GAVE_UP: Cause.UNDECIDED,
}


@dataclass(frozen=True, slots=True, order=True)
class Nearness:
    """Sorts misses: the rank of what is in the way, then how much of what is wanted is missing."""

    rank: int
    missing: float


@dataclass(frozen=True, slots=True)
class Judged:
    """What one node's reasons come to: the one that is hardest to cure decides for the node."""

    cause: Cause
    nearness: Nearness
    reason: Reason
    text: str


def judged(reasons: tuple[Reason, ...], inconsistent: Mapping[PoolId, Inconsistent]) -> Judged:
    """From the reasons of a NoFit or NodeError (never empty).

    An unusable pool decides if it comes first: the engine names it there when it holds devices that would match.
    """
    first = reasons[0]
    if _RANKS[first.code] == _POOLS:
        chosen = first
    else:
        others = [each for each in reasons if _RANKS[each.code] != _POOLS] or list(reasons)
        chosen = max(others, key=lambda each: (_RANKS[code := _effective(each).code], code in _DRAWN, _missing(each)))
    effective = _effective(chosen)
    cause, text = _CAUSES[effective.code], chosen.sentence()
    if effective.pool_reason is not None and effective.pool is not None:
        contradiction = inconsistent.get(effective.pool)
        if contradiction is not None:
            cause, text = Cause.POOL_INCONSISTENT, contradiction.sentence()
        elif effective.pool_reason.defect in (PoolDefect.UNKNOWN_COUNTER_SET, PoolDefect.UNKNOWN_COUNTER):
            text = _undefined(effective)
    return Judged(cause, Nearness(_RANKS[effective.code], _missing(chosen)), effective, text)


def _undefined(reason: Reason) -> str:
    found = reason.pool_reason
    if found is None or reason.pool is None:
        return reason.sentence()
    subject, _, drawn = found.subject.partition(" (")
    what = "counter set" if found.defect is PoolDefect.UNKNOWN_COUNTER_SET else "counter"
    return f"{what} {subject} is not defined in pool {reason.pool.name} of {reason.pool.driver} ({drawn}"


def _effective(reason: Reason) -> Reason:
    """Of alternatives the one that comes closest; of "all devices" the condition that takes some away."""
    if reason.code is ReasonCode.NO_ALTERNATIVE:
        return _effective(min(reason.causes, key=lambda cause: (_RANKS[cause.code], cause.missing)))
    if reason.code is ReasonCode.ALL_IN_USE:
        return reason.causes[0]
    return reason


def _missing(reason: Reason) -> float:
    """The share of what is wanted that is missing, 1 where it cannot be counted."""
    return reason.missing / reason.wanted if reason.wanted else 1.0
