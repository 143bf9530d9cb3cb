"""The four outcomes of an allocation (dra-semantics §0.1) and their Kubernetes form."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

from muster_dra.amounts import Amount
from muster_dra.objects.classes import OpaqueConfig
from muster_dra.objects.node_selectors import NodeSelector
from muster_dra.objects.taints import DeviceToleration
from muster_dra.reasons import Reason
from muster_types import DeviceId, Nano

_NOTHING: Mapping[str, Amount] = MappingProxyType({})


class DeviceResult(NamedTuple):
    """One device chosen for one request. `request` is `req` or `req/sub`.

    `share`: a share of a device that allows several; its id is given by whoever writes the allocation.
    `consumed` is what the share takes of each capacity, empty for exclusive devices and devices without capacity.
    """

    request: str
    device: DeviceId
    admin_access: bool = False
    share: bool = False
    consumed: Mapping[str, Amount] = _NOTHING
    tolerations: tuple[DeviceToleration, ...] = ()
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    skip_node_operations: tuple[str, ...] = ()

    @property
    def is_share(self) -> bool:
        return self.share

    @property
    def consumed_capacity(self) -> Mapping[str, Nano]:
        """In nano-units by capacity name."""
        return {name: amount.nano for name, amount in self.consumed.items()}

    @property
    def committed(self) -> Mapping[str, Nano] | None:
        """As it reads once written: a share of a device without capacity records nothing."""
        return self.consumed_capacity or None

    def to_json(self, share_id: str | None = None) -> dict[str, object]:
        """A DeviceRequestAllocationResult. `share_id` is required for a share, refused otherwise (ValueError)."""
        if self.share is (share_id is None):
            raise ValueError(f"{self.device}: a share needs an id, anything else has none")
        json: dict[str, object] = {
            "request": self.request,
            "driver": self.device.driver,
            "pool": self.device.pool,
            "device": self.device.device,
        }
        if self.admin_access:
            json["adminAccess"] = True
        if self.tolerations:
            json["tolerations"] = [toleration.to_json() for toleration in self.tolerations]
        if self.binding_conditions:
            json["bindingConditions"] = list(self.binding_conditions)
        if self.binding_failure_conditions:
            json["bindingFailureConditions"] = list(self.binding_failure_conditions)
        if share_id is not None:
            json["shareID"] = share_id
        if self.consumed:
            json["consumedCapacity"] = {name: amount.text for name, amount in self.consumed.items()}
        if self.skip_node_operations:
            json["skipNodeOperations"] = list(self.skip_node_operations)
        return json


class ConfigSource(Enum):
    FROM_CLASS = "FromClass"
    FROM_CLAIM = "FromClaim"


@dataclass(frozen=True, slots=True)
class AllocatedConfig:
    """A configuration that goes with the allocation; empty `requests` means all requests of the claim."""

    source: ConfigSource
    requests: tuple[str, ...]
    config: OpaqueConfig

    def to_json(self) -> dict[str, object]:
        requests: dict[str, object] = {"requests": list(self.requests)} if self.requests else {}
        return {"source": self.source.value, **requests, **self.config.json}


@dataclass(frozen=True, slots=True)
class ClaimAllocation:
    """The devices of one claim in search order; `node_selector` None means usable everywhere."""

    results: tuple[DeviceResult, ...]
    node_selector: NodeSelector | None = None
    config: tuple[AllocatedConfig, ...] = ()

    def to_json(self, share_ids: Sequence[str] = ()) -> dict[str, object]:
        """`status.allocation`. `share_ids`: one for each share among the results, in order (ValueError if not)."""
        shares = [result for result in self.results if result.share]
        if len(shares) != len(share_ids):
            raise ValueError(f"{len(shares)} shares need as many ids, got {len(share_ids)}")
        ids = iter(share_ids)
        devices: dict[str, object] = {
            "results": [result.to_json(next(ids) if result.share else None) for result in self.results]
        }
        if self.config:
            devices["config"] = [config.to_json() for config in self.config]
        selector: dict[str, object] = {"nodeSelector": self.node_selector.to_json()} if self.node_selector else {}
        return {"devices": devices, **selector}


class Allocation:
    """Yes: one allocation for each claim, in order, written out when somebody reads it."""

    __slots__ = ("_claims",)
    __match_args__ = ("claims",)

    def __init__(self, claims: "tuple[ClaimAllocation, ...] | Callable[[], tuple[ClaimAllocation, ...]]") -> None:
        self._claims = claims

    @property
    def claims(self) -> tuple[ClaimAllocation, ...]:
        if callable(self._claims):
            self._claims = self._claims()
        return self._claims

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Allocation) and self.claims == other.claims

    def __hash__(self) -> int:
        return hash(tuple((result.request, result.device) for claim in self.claims for result in claim.results))

    def __repr__(self) -> str:
        return f"Allocation({self.claims!r})"


class Refusal:
    """A no with its reasons, which are worked out when somebody asks: most callers only need the no."""

    __slots__ = ("_explain", "_reasons")

    def __init__(self, explain: Callable[[], tuple[Reason, ...]] | tuple[Reason, ...]) -> None:
        self._explain = explain
        self._reasons: tuple[Reason, ...] | None = None

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """Most telling first; never empty."""
        if self._reasons is None:
            self._reasons = self._explain() if callable(self._explain) else self._explain
        return self._reasons

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, Refusal) and self.reasons == other.reasons

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.reasons))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'; '.join(reason.sentence() for reason in self.reasons)})"


class NoFit(Refusal):
    """No: this node cannot take the claims together."""

    __slots__ = ()


class NodeError(Refusal):
    """No, and the node has invalid pools that could have held the answer: a message goes to the user."""

    __slots__ = ()


class FatalKind(Enum):
    """What ends the whole scheduling attempt, even if other nodes would fit (dra-semantics §0.1).

    Of the claims, on every node: FEATURE_DISABLED, CLASS_MISSING, CLASS_UNNAMED, SELECTOR_EMPTY, MODE_UNKNOWN,
    CONSTRAINT_EMPTY. Met on one node: the others.
    """

    FEATURE_DISABLED = "a feature gate is off"
    CLASS_MISSING = "the device class does not exist"
    CLASS_UNNAMED = "no device class is named"
    SELECTOR_EMPTY = "a selector without expression"
    MODE_UNKNOWN = "unknown allocation mode"
    CONSTRAINT_EMPTY = "a constraint without attribute"
    TOO_MANY_DEVICES = "more than 32 devices for one claim"
    POOL_NOT_USABLE = "all devices are wanted and a pool is incomplete or invalid"
    ALL_CONSTRAINT = "all devices are wanted and a constraint refuses one of them"
    EXPRESSION = "an expression cannot be compiled or evaluated"
    NODE_SELECTOR = "a node selector cannot be evaluated"
    NODE_SELECTOR_TERMS = "a node selector with several terms cannot be combined"
    GAVE_UP = "gave up"


@dataclass(frozen=True, slots=True)
class Fatal:
    """Neither yes nor no: the attempt ends. GAVE_UP says that the search budget is spent, not that nothing fits."""

    kind: FatalKind
    message: str


Outcome = Allocation | NoFit | NodeError | Fatal
