"""Capacity of a device and its request policy (dra-semantics §1.5)."""

from collections.abc import Mapping
from itertools import pairwise

from muster_kube.faults import Faults, given
from muster_kube.parts import amount, mapping, sequence
from muster_types import Nano


def check_capacity(faults: Faults, field: str, capacity: Mapping[str, object], *, shared: bool) -> None:
    """One entry of `capacity`; `shared` devices only may have a request policy. Misspelt quantities are told by
    `fields.py`, and nothing is compared with them here."""
    if not given(capacity.get("value")):
        faults.add(f"{field}.value", "it is missing; write an amount")
        return
    policy = mapping(capacity.get("requestPolicy"))
    if not policy:
        return
    at = f"{field}.requestPolicy"
    if not shared:
        faults.add(at, "only a device with allowMultipleAllocations: true may have one; remove it")
        return
    values, span = sequence(policy.get("validValues")), mapping(policy.get("validRange"))
    if values and span:
        faults.add(at, "validValues and validRange exclude each other; keep one")
    if not given(policy.get("default")):
        if values or span:
            faults.add(f"{at}.default", "it is missing; with validValues or validRange a default is required")
        return
    value, default = amount(capacity.get("value")), amount(policy.get("default"))
    if value is None or default is None:
        return
    if values:
        _check_values(faults, at, [amount(each) for each in values], default)
    if span:
        _check_range(faults, at, span, default, value)


def _check_values(faults: Faults, field: str, values: list[Nano | None], default: Nano) -> None:
    faults.at_most(f"{field}.validValues", values, 10)
    known = [value for value in values if value is not None]
    if any(after <= before for before, after in pairwise(known)):
        faults.add(f"{field}.validValues", "they do not ascend; sort them and keep each once")
    if default not in values:
        faults.add(f"{field}.default", "it is none of validValues; add it to them")


def _check_range(faults: Faults, field: str, span: Mapping[str, object], default: Nano, value: Nano) -> None:
    at = f"{field}.validRange"
    if not given(span.get("min")):
        faults.add(f"{at}.min", "it is missing; write the least amount of a request")
        return
    least, written_most = amount(span.get("min")), amount(span.get("max"))
    if least is None:
        return
    most = value if written_most is None else written_most
    if least > value:
        faults.add(f"{at}.min", "it is above the capacity's value; lower it")
    if most < least or most > value:
        faults.add(f"{at}.max", "it is not between min and the capacity's value; correct it")
    if not least <= default <= most:
        faults.add(f"{field}.default", "it lies outside validRange; correct it")
    step = amount(span.get("step"))
    if step is None:
        return
    if step <= 0:
        faults.add(f"{at}.step", "it is not above 0; remove it or write an amount")
        return
    if least + step > value:
        faults.add(f"{at}.step", "min plus step is above the capacity's value; lower it")
    if written_most is not None and (written_most - least) % step:
        faults.add(f"{at}.max", "it is not min plus a multiple of step; correct it")
    if (default - least) % step:
        faults.add(f"{field}.default", "it is not min plus a multiple of step; correct it")
