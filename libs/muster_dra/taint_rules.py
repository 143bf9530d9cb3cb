"""DeviceTaintRules applied to slices before anything is allocated (dra-semantics §1.13, D11)."""

from collections.abc import Sequence
from dataclasses import replace

from muster_dra.features import Features
from muster_dra.objects.classes import DeviceTaintRule
from muster_dra.objects.slices import Device, ResourceSlice


def with_taint_rules(slice_: ResourceSlice, rules: Sequence[DeviceTaintRule], features: Features) -> ResourceSlice:
    """The slice with the taint of each rule appended to every device that the rule means; rules add up."""
    if not features.device_taint_rules or not features.device_taints:
        return slice_
    concerned = [rule for rule in rules if _acts(rule, features) and rule.concerns(slice_.pool)]
    if not concerned:
        return slice_

    def tainted(device: Device) -> Device:
        taints = tuple(
            replace(rule.taint, rule=rule.name) for rule in concerned if rule.meant(slice_.pool, device.name)
        )
        return replace(device, taints=device.taints + taints) if taints else device

    return replace(slice_, devices=tuple(map(tainted, slice_.devices)))


def _acts(rule: DeviceTaintRule, features: Features) -> bool:
    """Without a selector a rule taints every device in 1.37.0; as documented it taints none (D11)."""
    return rule.selects or not features.strict
