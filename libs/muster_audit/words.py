"""The words of an answer: verdicts, and the reasons behind a no (shared/field/README.md)."""

from enum import StrEnum


class Word(StrEnum):
    """What is said about a subject."""

    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNSAFE = "unsafe"
    """The API data allows it, the physical facts speak against it."""
    SELECTOR_ERROR = "selector-error"
    SCALE_UP = "scale-up"
    NO_SCALE_UP = "no-scale-up"
    PROVISIONED = "Provisioned"
    """The answer to a request that only asks whether the capacity is there."""
    FAILED = "Failed"
    OPTION = "option"
    """A node group that would serve too, but was not chosen."""
    NO_OPTION = "no-option"
    """A node group that cannot serve, where another one can."""
    TEMPLATE_INVALID = "template-invalid"
    REMOVAL_CANDIDATE = "removal-candidate"
    PLACED = "placed"
    AFFECTED = "affected"
    """A running pod that a NoExecute taint of one of its devices drives out."""
    KEEPS_ALLOCATION = "keeps-allocation"
    """A running pod with a device that is no longer published: the claim's status is the truth."""
    IDLE = "idle"
    USAGE = "usage"
    FINDING = "finding"
    INVALID_INPUT = "invalid-input"


class Cause(StrEnum):
    """Why not."""

    SHORTAGE = "shortage"
    """No more of the thing exists free."""
    FRAGMENTATION = "fragmentation"
    """Enough exists, spread so that it cannot be used; moving something would help."""
    TOPOLOGY_MISMATCH = "topology-mismatch"
    """The constraint cannot be met by this shape or combination."""
    SELECTOR_MISMATCH = "selector-mismatch"
    ATTRIBUTE_MISSING = "attribute-missing"
    COUNTERS_EXHAUSTED = "counters-exhausted"
    CAPACITY_EXHAUSTED = "capacity-exhausted"
    POLICY_VIOLATION = "policy-violation"
    TAINT = "taint"
    POOL_INCOMPLETE = "pool-incomplete"
    POOL_INCONSISTENT = "pool-inconsistent"
    POOL_INVALID = "pool-invalid"
    NO_INVENTORY = "no-inventory"
    CLASS_MISSING = "class-missing"
    TEMPLATE_MISSING = "template-missing"
    QUOTA = "quota"
    GANG_PARTIAL = "gang-partial"
    HELD_FOR_GANG_REPAIR = "held-for-gang-repair"
    LIMIT = "limit"
    API_LIMIT = "api-limit"
    SELECTOR_ERROR = "selector-error"
    CAPACITY_NOT_FOUND = "CapacityIsNotFound"
    """The reason of a failed check-capacity request (group-capacity §1.4)."""
    INVALID_OBJECT = "invalid-object"
    """What the API server would have refused."""
    UNDECIDED = "undecided"
    """The search gave up: neither a placement nor a proof was found."""


class ScaleUp(StrEnum):
    """Whether more nodes would help."""

    HELPS = "helps"
    NEVER = "never"
    LIMIT = "limit"
    UNKNOWN = "unknown: no device template"
    NOT_NEEDED = ""


CURABLE = frozenset(
    {
        Cause.SHORTAGE,
        Cause.FRAGMENTATION,
        Cause.TOPOLOGY_MISMATCH,
        Cause.COUNTERS_EXHAUSTED,
        Cause.CAPACITY_EXHAUSTED,
        Cause.GANG_PARTIAL,
        Cause.HELD_FOR_GANG_REPAIR,
        Cause.TAINT,
        Cause.NO_INVENTORY,
        Cause.LIMIT,
        Cause.POOL_INCOMPLETE,
    }
)
"""Causes that other capacity could take away."""
