"""One request alone on one node: how many devices each condition leaves, and which one leaves too few."""

from collections.abc import Callable

from muster_dra.capacity import fits
from muster_dra.cel import CelError
from muster_dra.compiled import Ask
from muster_dra.funnel_sharing import Sharing, Survivor, cel_view, ids, index_of, pools_of
from muster_dra.objects.slices import RequestPolicy
from muster_dra.objects.taints import DeviceTaint, all_untolerated, untolerated
from muster_dra.phrases import amount_like
from muster_dra.prepare import Mode
from muster_dra.reasons import Reason, ReasonCode


class Funnel(Sharing):
    """The stages of dra-semantics §3.4 in their order, constraints left out. Selector errors count as false."""

    def reason(self, ask: Ask) -> Reason | None:
        """Why the request cannot be satisfied even alone, or None if it can. Constraints are not looked at."""
        found = self.narrowed(ask)
        return found if isinstance(found, Reason) else None

    def narrowed(self, ask: Ask) -> list[Survivor] | Reason:
        """The devices that the request could take now, or the first condition that leaves too few."""
        every = ask.option.mode is Mode.ALL
        wanted = 1 if every else ask.option.count
        matching = self._matching(ask, wanted)
        if isinstance(matching, Reason):
            return self._none_at_all(matching) if every else matching
        if every:
            wanted = len(matching)
        stages: tuple[Callable[[Ask, list[Survivor], int], list[Survivor] | Reason], ...] = (
            self._untainted,
            self._free,
            self._with_room,
            self._with_counters,
        )
        left = matching
        for stage in stages:
            found = stage(ask, left, wanted)
            if isinstance(found, Reason):
                return self._as_all(found, matching) if every else found
            left = found
        return left

    def _matching(self, ask: Ask, wanted: int) -> list[Survivor] | Reason:
        """Selected, usable on this node, with a capacity that could do it."""
        left = [Survivor(number, slot) for number, slot in enumerate(self._view.slots())]
        if not left:
            return self._named(ask, Reason(ReasonCode.NO_DEVICES))
        for place, expression, selector in ask.selectors.selectors:
            if isinstance(selector, CelError):
                continue
            passed = [one for one in left if selector.matches(cel_view(one)) is True]
            if not passed:
                of_class = place.startswith("class ")
                code = ReasonCode.CLASS_MATCHES_NOTHING if of_class else ReasonCode.SELECTOR_MATCHES_NOTHING
                name = ask.option.device_class.name
                reason = Reason(code, subject=expression, found=len(left), value=name, wanted=wanted)
                return self._named(ask, reason, left)
            left = passed
        if len(left) < wanted:
            reason = Reason(ReasonCode.TOO_FEW_MATCH, wanted=wanted, found=len(left), devices=ids(left))
            return self._named(ask, reason, left)
        here = [one for one in left if one.slot.part.here >> index_of(one) & 1]
        if len(here) < wanted:
            elsewhere = [one for one in left if one not in here]
            return self._named(
                ask, Reason(ReasonCode.BOUND_ELSEWHERE, wanted=wanted, found=len(here), devices=ids(elsewhere)), left
            )
        gated = [one for one in here if not self._gated(one)]
        if len(gated) < wanted:
            return self._named(
                ask, Reason(ReasonCode.FEATURE_OFF, wanted=wanted, found=len(gated), subject=self._gate(here)), here
            )
        return self._capable(ask, gated, wanted)

    def _gated(self, one: Survivor) -> bool:
        device, features = one.slot.device, self._features
        return bool(device.binding_conditions and not features.binding_conditions) or bool(
            device.consumes and not features.partitionable_devices
        )

    def _gate(self, left: list[Survivor]) -> str:
        binding = any(one.slot.device.binding_conditions for one in left) and not self._features.binding_conditions
        return "DRADeviceBindingConditions" if binding else "DRAPartitionableDevices"

    def _capable(self, ask: Ask, left: list[Survivor], wanted: int) -> list[Survivor] | Reason:
        """Devices whose capacity, empty, could give what is asked."""
        if not self._features.consumable_capacity:
            return left
        requested = ask.option.wanted.capacity or {}
        for name, amount in requested.items():
            have = [one for one in left if name in one.slot.device.capacity]
            if len(have) < wanted:
                return self._named(
                    ask,
                    Reason(
                        ReasonCode.CAPACITY_MISSING,
                        subject=name,
                        wanted=wanted,
                        found=len(have),
                        wanted_amount=amount.text,
                    ),
                    left,
                )
            allowed = [one for one in have if self._amounts(ask, one) is not None]
            if len(allowed) < wanted:
                return self._named(
                    ask,
                    Reason(
                        ReasonCode.CAPACITY_POLICY,
                        subject=name,
                        wanted=wanted,
                        found=len(allowed),
                        wanted_amount=amount.text,
                        value=policy_text(have[0].slot.device.capacity[name].policy),
                    ),
                    have,
                )
            large = [one for one in allowed if fits(one.slot.device, self._amounts(ask, one) or {}, {})]
            if len(large) < wanted:
                needed = self._amounts(ask, allowed[0]) or {name: amount}
                most = max((one.slot.device.capacity[name].value for one in have), key=lambda value: value.nano)
                return self._named(
                    ask,
                    Reason(
                        ReasonCode.CAPACITY_TOO_SMALL,
                        subject=name,
                        wanted=wanted,
                        found=len(large),
                        wanted_amount=amount_like(needed[name].nano, amount).text,
                        found_amount=most.text,
                        devices=ids(have),
                    ),
                    have,
                )
            left = large
        return [one for one in left if self._amounts(ask, one) is not None]

    def _untainted(self, ask: Ask, left: list[Survivor], wanted: int) -> list[Survivor] | Reason:
        if not self._features.device_taints:
            return left
        taints = [untolerated(one.slot.device.taints, ask.option.wanted.tolerations) for one in left]
        clean = [one for one, taint in zip(left, taints, strict=True) if taint is None]
        if len(clean) >= wanted:
            return clean
        tainted = [one for one in left if one not in clean]
        tolerations = ask.option.wanted.tolerations
        names = {
            _taint_text(taint) for one in tainted for taint in all_untolerated(one.slot.device.taints, tolerations)
        }
        return self._named(
            ask,
            Reason(
                ReasonCode.TAINTED,
                subject=", ".join(sorted(names)),
                wanted=wanted,
                found=len(clean),
                devices=ids(tainted),
            ),
            left,
        )

    def _free(self, ask: Ask, left: list[Survivor], wanted: int) -> list[Survivor] | Reason:
        if ask.option.admin:
            return left
        held = {one.number: holders for one in left if (holders := self._held(one)) is not None}
        free = [one for one in left if one.number not in held]
        if len(free) >= wanted:
            return free
        holders = tuple(sorted({name for names in held.values() for name in names}))
        return self._named(
            ask,
            Reason(
                ReasonCode.HELD,
                wanted=wanted,
                found=len(free),
                holders=holders,
                devices=ids(one for one in left if one.number in held),
            ),
            left,
        )

    def _held(self, one: Survivor) -> tuple[str, ...] | None:
        """Who keeps an ordinary request away from the device; None if nobody does."""
        use = self._allocated.use(one.slot.pool.id)
        name = one.slot.device.name
        if name in use.dedicated:
            return use.dedicated[name]
        if name in use.shared and not self._features.consumable_capacity:
            return use.shared[name].holders
        return None

    def _none_at_all(self, cause: Reason) -> Reason:
        return Reason(ReasonCode.ALL_OF_NONE, cause.claim, cause.request, causes=(cause,), pools=cause.pools)

    def _as_all(self, reason: Reason, matching: list[Survivor]) -> Reason:
        """A condition that spares too few of "all": those that cannot be had are the evidence."""
        return Reason(
            ReasonCode.ALL_IN_USE,
            reason.claim,
            reason.request,
            wanted=len(matching),
            found=reason.found,
            devices=reason.devices,
            holders=reason.holders,
            causes=(reason,),
            pools=pools_of(matching),
        )


def _taint_text(taint: DeviceTaint) -> str:
    return f"{taint} (DeviceTaintRule {taint.rule})" if taint.rule else str(taint)


def policy_text(policy: RequestPolicy | None) -> str:
    """The amounts that a request policy allows, in words."""
    if policy is None:
        return "any amount"
    if policy.valid_range is not None:
        valid = policy.valid_range
        most = f" to {valid.max}" if valid.max is not None else " or more"
        return f"{valid.min}{most}" + (f" in steps of {valid.step}" if valid.step is not None else "")
    return " or ".join(value.text for value in policy.valid_values) or "any amount"
