"""Why not: an enum code, its data, and one sentence."""

from dataclasses import dataclass
from enum import Enum

from muster_dra.objects.slices import PoolId
from muster_dra.phrases import attribute_name, claims_text, counted, device_names, listed, matches_none, pools_text
from muster_dra.pools import PoolReason
from muster_types import DeviceId


class ReasonCode(Enum):
    """What was in the way. The comment of each says how `subject`, `wanted` and `found` of its reason are meant."""

    NO_DEVICES = "no-devices"
    """No usable pool shows the node any device."""
    POOL_INCOMPLETE = "pool-incomplete"
    """A pool is being updated, or only an older generation is visible here."""
    POOL_INVALID = "pool-invalid"
    """A pool contradicts itself."""
    DEVICES_IGNORED = "devices-ignored"
    """`found` devices of slice `subject` do not exist for the scheduler: the slice holds shared counters as well."""
    CLASS_MATCHES_NOTHING = "class-matches-nothing"
    """`subject` is the class selector that is false for all of `found` devices left before it."""
    SELECTOR_MATCHES_NOTHING = "selector-matches-nothing"
    """`subject` is the request's selector that is false for all of `found` devices left before it."""
    TOO_FEW_MATCH = "too-few-match"
    """`found` devices match, used or not; `wanted` are asked for."""
    BOUND_ELSEWHERE = "bound-elsewhere"
    """Devices match, but are bound to other nodes, one by one."""
    FEATURE_OFF = "feature-off"
    """Devices match that need the feature gate `subject`."""
    CAPACITY_MISSING = "capacity-missing"
    """Devices do not publish the capacity `subject`."""
    CAPACITY_TOO_SMALL = "capacity-too-small"
    """`wanted_amount` of the capacity `subject`; the largest matching device has `found_amount` in total."""
    CAPACITY_POLICY = "capacity-policy"
    """The devices' request policy does not allow `wanted_amount` of `subject`, but `value`."""
    CAPACITY_USED = "capacity-used"
    """`wanted_amount` of the capacity `subject`; no device has more than `found_amount` left."""
    TAINTED = "tainted"
    """`subject` are the taints that are not tolerated, with the DeviceTaintRule of those that come from one."""
    HELD = "held"
    """Enough devices match, but only `found` are free; the others are held by `holders`."""
    COUNTERS_USED = "counters-used"
    """`wanted_amount` of the counter `subject` is needed, `found_amount` is left; devices held by `holders` draw it."""
    COUNTERS_SHARED = "counters-shared"
    """Each of enough devices could be had, but at most `found` of `wanted` together: they draw on the same counters.

    `subject` is the counter that is short, with `wanted_amount` and `found_amount`, if one alone is; else several, with
    what is left of each.
    """
    ATTRIBUTE_MISSING = "attribute-missing"
    """`subject` is the constraint's attribute; only `found` of the devices that are free publish it."""
    MATCH_UNMET = "match-unmet"
    """At most `found` of `wanted` devices share one value of the attribute `subject`."""
    DISTINCT_UNMET = "distinct-unmet"
    """At most `found` free devices can be had with different values of the attribute `subject`, `wanted` are needed.

    `value` are the values there are.
    """
    CONSTRAINTS_CLASH = "constraints-clash"
    """Each constraint could be met alone; `subject` names those that cannot be met together."""
    REQUESTS_COMPETE = "requests-compete"
    """Each request fits alone; the request and those before it want `wanted` of the `found` free devices they share."""
    CLAIMS_COMPETE = "claims-compete"
    """The claim fits alone, but not beside the pod's claims before it: they want `wanted` devices, `found` can be had.

    `subject`: set if the claim would fit were it listed first, because an earlier one has admin access.
    """
    ALL_IN_USE = "all-in-use"
    """All matching devices are asked for, and some of them cannot be had: see `devices` and `holders`."""
    ALL_OF_NONE = "all-of-none"
    """All matching devices are asked for, and there are none: `causes` say why."""
    NO_ALTERNATIVE = "no-alternative"
    """Every alternative of the request fails; `causes` say why, in order of preference."""
    NO_COMBINATION = "no-combination"
    """Each request fits alone; which condition keeps them apart was not worked out."""
    TOO_MANY_DEVICES = "too-many-devices"
    """Alternatives that fit would give the claim `wanted` devices, `found` are allowed; `request` exceeds the limit."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason. Empty fields do not apply; the enum's comments say what each means for a code.

    `request` is `req` or `req/sub`, `requests` are those of a constraint over several; `pools` hold the devices that
    came in question; `devices` are the evidence, for MATCH_UNMET those that share the best value first.
    """

    code: ReasonCode
    claim: str = ""
    request: str = ""
    subject: str = ""
    wanted: int = 0
    found: int = 0
    wanted_amount: str = ""
    found_amount: str = ""
    value: str = ""
    """The best value of a constraint's attribute, or the alternative that comes closest."""
    other_value: str = ""
    devices: tuple[DeviceId, ...] = ()
    holders: tuple[str, ...] = ()
    requests: tuple[str, ...] = ()
    pools: tuple[PoolId, ...] = ()
    pool: PoolId | None = None
    pool_reason: PoolReason | None = None
    causes: tuple["Reason", ...] = ()

    @property
    def missing(self) -> int:
        """How many devices short it is, where that can be counted."""
        return max(self.wanted - self.found, 0)

    def sentence(self) -> str:
        """One sentence for people, without the node, with claim, request and pool in front."""
        parts = [f"claim {self.claim}"] if self.claim else []
        if self.request:
            parts.append(f"request {self.request}")
        elif self.requests:
            parts.append(f"requests {listed(self.requests)}")
        if self.pools:
            parts.append(pools_text(self.pools))
        return f"{', '.join(parts)}: {self.text()}" if parts else self.text()

    def text(self) -> str:
        """The sentence without claim, request and pool."""
        match self.code:
            case ReasonCode.NO_DEVICES:
                return "no pool shows this node a device"
            case ReasonCode.POOL_INCOMPLETE | ReasonCode.POOL_INVALID:
                return self._pool_text()
            case ReasonCode.DEVICES_IGNORED:
                return (
                    f"slice {self.subject} of pool {self.pool} holds shared counters, so the scheduler does not see "
                    f"its {counted(self.found)}; publish devices and counters in slices of their own"
                )
            case ReasonCode.CLASS_MATCHES_NOTHING:
                return f"class {self.value} {matches_none(self.found)} here: {self.subject}"
            case ReasonCode.SELECTOR_MATCHES_NOTHING:
                return f"the selector {matches_none(self.found)} of its class: {self.subject}"
            case ReasonCode.TOO_FEW_MATCH:
                return f"{counted(self.wanted)} wanted, only {self.found} of this kind on the node, used or not"
            case ReasonCode.BOUND_ELSEWHERE:
                elsewhere = listed(self._names())
                return f"{counted(self.wanted)} wanted, {self.found} usable here; {elsewhere} bound to other nodes"
            case ReasonCode.FEATURE_OFF:
                return f"{counted(self.wanted)} wanted, {self.found} usable; others need the gate {self.subject}"
            case ReasonCode.CAPACITY_MISSING:
                return f"{self.subject} {self.wanted_amount} wanted, no matching device publishes that capacity"
            case ReasonCode.CAPACITY_TOO_SMALL:
                return f"{self.subject} {self.wanted_amount} wanted, largest matching device has {self.found_amount}"
            case ReasonCode.CAPACITY_POLICY:
                return f"{self.subject} {self.wanted_amount} wanted, the devices' request policy allows {self.value}"
            case ReasonCode.CAPACITY_USED:
                held = f", the rest is held by {listed(self.holders)}" if self.holders else ""
                return f"{self.subject} {self.wanted_amount} wanted, largest free device has {self.found_amount}{held}"
            case ReasonCode.TAINTED:
                tainted = listed(self._names())
                return f"{counted(self.wanted)} wanted, {self.found} without taint; {tainted} tainted {self.subject}"
            case ReasonCode.HELD:
                return self._held_text()
            case ReasonCode.COUNTERS_USED:
                held = f", held by {listed(self.holders)}" if self.holders else ""
                return f"counter {self.subject}: {self.wanted_amount} needed, {self.found_amount} left{held}"
            case ReasonCode.COUNTERS_SHARED:
                return self._counters_text()
            case ReasonCode.ATTRIBUTE_MISSING:
                wanted = f"{counted(self.wanted)} with attribute {self.subject} wanted"
                return f"{wanted}, {self.found} of the free ones publish it"
            case ReasonCode.MATCH_UNMET:
                return self._match_text()
            case ReasonCode.DISTINCT_UNMET:
                values = f"; the free devices have {self.value}" if self.value else ""
                return (
                    f"{self.wanted} different values of {self.subject} wanted, at most {self.found} can be had{values}"
                )
            case ReasonCode.CONSTRAINTS_CLASH:
                return f"each constraint could be met alone, not together: {self.subject}"
            case ReasonCode.REQUESTS_COMPETE:
                return (
                    f"each request fits alone, together they want {counted(self.wanted)} "
                    f"and {self.found} can be had for them"
                )
            case ReasonCode.CLAIMS_COMPETE:
                return self._claims_text()
            case ReasonCode.ALL_IN_USE:
                return f"all {counted(self.wanted)} wanted, {self._all_text()}"
            case ReasonCode.ALL_OF_NONE:
                why = f": {self.causes[0].text()}" if self.causes else ""
                return f"all matching devices wanted, there is none{why}"
            case ReasonCode.NO_ALTERNATIVE:
                return "no alternative fits: " + "; ".join(
                    f"{cause.request.rpartition('/')[2]}: {cause.text()}" for cause in self.causes
                )
            case ReasonCode.NO_COMBINATION:
                return "each request fits alone, but no choice of devices satisfies all of them together"
            case ReasonCode.TOO_MANY_DEVICES:
                return (
                    f"the alternatives that fit would give the claim at least {counted(self.wanted)}, "
                    f"{self.found} are allowed"
                )

    def _pool_text(self) -> str:
        return self.pool_reason.sentence(self.pool) if self.pool_reason is not None and self.pool is not None else ""

    def _counters_text(self) -> str:
        text = f"{counted(self.wanted)} wanted, at most {self.found} can be had together: they draw on "
        if self.wanted_amount:
            return text + f"counter {self.subject}, {self.wanted_amount} needed, {self.found_amount} left"
        return text + f"the same counters{': ' + self.subject if self.subject else ''}"

    def _claims_text(self) -> str:
        text = f"fits alone, but not beside {listed(self.holders)} of the same pod"
        if self.found < self.wanted:
            text += f": together they want {counted(self.wanted)}, {self.found} can be had"
        if self.subject:
            text += (
                "; it would fit if it were listed first: admin access takes a device from the claims behind it, "
                "not from those before"
            )
        return text

    def _held_text(self) -> str:
        if self.found == 0:
            return f"all matching devices are held by {claims_text(self.holders)}"
        return f"{counted(self.wanted)} wanted, {self.found} free, the others are held by {claims_text(self.holders)}"

    def _match_text(self) -> str:
        short = attribute_name(self.subject, self.pools)
        names = self._names()
        text = f"{self.found} of {self.wanted} devices share {short}={self.value}"
        if len(self.devices) > self.found:
            text += f"; {names[self.found]} has {short}={self.other_value}"
        if self.holders:
            text += f"; others with {short}={self.value} are held by {claims_text(self.holders)}"
        return text

    def _all_text(self) -> str:
        cause, names = self.causes[0], listed(self._names())
        if cause.code is ReasonCode.TAINTED:
            return f"{names} tainted {cause.subject}"
        if cause.code is ReasonCode.HELD:
            return f"{names} held by {claims_text(self.holders)}"
        return f"not to be had: {names} ({cause.text()})"

    def _names(self) -> tuple[str, ...]:
        return device_names(self.devices, self.pools)

    def to_json(self) -> dict[str, object]:
        """For programs: code, sentence, and the fields that apply."""
        json: dict[str, object] = {"code": self.code.value, "sentence": self.sentence()}
        for field in ("claim", "request", "subject", "value", "other_value"):
            if getattr(self, field):
                json[field] = getattr(self, field)
        if self.wanted:
            json |= {"wanted": self.wanted, "found": self.found}
        if self.wanted_amount:
            json |= {"wanted_amount": self.wanted_amount, "found_amount": self.found_amount}
        if self.devices:
            json["devices"] = [str(device) for device in self.devices]
        if self.holders:
            json["holders"] = list(self.holders)
        if self.requests:
            json["requests"] = list(self.requests)
        if self.pools:
            json["pools"] = [str(pool) for pool in self.pools]
        if self.pool is not None:
            json["pool"] = str(self.pool)
        if self.causes:
            json["causes"] = [cause.to_json() for cause in self.causes]
        return json
