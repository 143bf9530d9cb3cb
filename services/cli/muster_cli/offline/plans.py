"""Plans as the command line shows them: one document in snake case for programs, lines and tables for people."""

from collections.abc import Iterator, Mapping
from typing import cast

from muster_cli.console import print_table, stdout
from muster_cli.live.devices import devices_line
from muster_plan import ExistingNode, InvalidGang, NoPlan, Pin, PinKind, Placement, Plan, to_json

_SNAKE: Mapping[str, str] = {
    "newNodes": "new_nodes",
    "podSets": "pod_sets",
    "podSet": "pod_set",
    "adminAccess": "admin_access",
    "consumedCapacity": "consumed_capacity",
}
"""Keys of a plan's JSON; names of resources and drivers, which are keys too, stay as they are."""
_HOW: Mapping[PinKind, str] = {
    PinKind.NODE: "each pod told its node",
    PinKind.ORDER: "each pod told its node, and in this order",
    PinKind.DEVICES: "each pod told its node, in this order, its claims narrowed to the devices above",
}


def plan_document(found: Plan | NoPlan | InvalidGang) -> dict[str, object]:
    """The answer for programs."""
    match found:
        case Plan():
            return {"feasible": True, "plan": _snake(to_json(found))}
        case NoPlan():
            return {
                "feasible": False,
                "kind": found.kind.value,
                "even_empty": found.even_empty,
                "waiting_helps": found.waiting_helps,
                "reasons": [reason.sentence() for reason in found.reasons],
                "proof": found.proof,
                "helps": [each.text for each in found.helps],
            }
        case InvalidGang():
            return {"feasible": False, "kind": "invalid", "reasons": [found.sentence()]}


def print_plan(name: str, found: Plan | NoPlan | InvalidGang) -> None:
    """The answer for people."""
    match found:
        case Plan():
            orders = ", ".join(f"{order.count} of {order.group}" for order in found.orders) or "no new node"
            _say(f"{name}  planned: {orders}, {_price(found)}")
            if found.domain:
                _say(f"  domain: {found.domain}")
            print_table(
                ("POD", "NODE", "DEVICES"),
                [
                    (
                        f"{each.pod_set}-{each.index}",
                        f"{each.target}" + ("" if isinstance(each.target, ExistingNode) else " (new)"),
                        _devices(each),
                    )
                    for each in found.placements
                ],
                empty="no member has a place",
            )
            for line in (*_pins(found), *_others(found)):
                _say(f"  {line}")
        case NoPlan():
            _say(f"{name}  no plan ({found.kind.value})")
            for reason in found.reasons:
                _say(f"  {reason.sentence()}")
            if found.proof:
                _say(f"  proof: {found.proof}")
            if found.even_empty:
                _say("  it would stay so even if everybody else left")
            for each in found.helps:
                _say(f"  would help: {each.text}")
        case InvalidGang():
            _say(f"{name}  cannot be planned: {found.sentence()}")


def _say(line: str) -> None:
    stdout.print(line, markup=False, soft_wrap=True)


def _price(found: Plan) -> str:
    if found.optimal:
        return f"cost {found.cost:g} (the least there is)"
    if found.bound:
        return f"cost {found.cost:g} (at least {found.bound:g}, within {found.cost / found.bound - 1:.1%})"
    return f"cost {found.cost:g} (no bound is proven)"


def _pins(found: Plan) -> Iterator[str]:
    """How the scheduler must be told, node by node; nothing for a plan that survives by itself."""
    yield f"under the scheduler: {found.survival.value}"
    of_node: dict[str, list[Pin]] = {}
    for pin in found.pins:
        of_node.setdefault(str(pin.target), []).append(pin)
    for target, pins in of_node.items():
        ordered = sorted(pins, key=lambda pin: pin.position)
        pods = ", ".join(f"{pin.pod_set}-{pin.index}" for pin in ordered)
        yield f"pin {target}: {_HOW[ordered[0].kind]}: {pods} ({ordered[0].why})"


def _others(found: Plan) -> Iterator[str]:
    for name, index in found.unplaced:
        yield f"without a place, beyond the minimum: {name}-{index}"
    for assumption in found.assumptions:
        yield f"to be verified on arrival: {assumption}"
    for spare in found.spare:
        devices = devices_line({driver: [f"{count} free"] for driver, count in spare.devices})
        if devices:
            yield f"spare on {spare.target}: {devices}"
    for alternative in found.alternatives:
        yield f"not taken: {alternative.label}: {alternative.why}"


def _devices(placement: Placement) -> str:
    by_driver: dict[str, list[str]] = {}
    for claim in placement.claims:
        for result in claim.results:
            by_driver.setdefault(result.device.driver, []).append(result.device.device)
    return devices_line(by_driver)


def _snake(value: object) -> object:
    match value:
        case dict():
            body = cast("dict[str, object]", value)
            return {_SNAKE.get(key, key): _snake(each) for key, each in body.items()}
        case list():
            return [_snake(each) for each in cast("list[object]", value)]
        case _:
            return value
