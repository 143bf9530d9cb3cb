"""Allocation problems as JSON lines, the form of shared/corpus: one row in, one answer out."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import cast

from muster_dra.allocate import allocate
from muster_dra.allocated import AllocatedState
from muster_dra.catalog import Catalog
from muster_dra.features import GATES, Features, Meaning, Release
from muster_dra.objects.claims import AllocatedDevice, Defaults, parse_claim
from muster_dra.objects.classes import parse_class, parse_taint_rule
from muster_dra.objects.nodes import parse_node
from muster_dra.objects.slices import parse_slice
from muster_dra.outcome import Allocation, ClaimAllocation, DeviceResult, Fatal, NodeError, NoFit, Outcome
from muster_dra.reading import Fields, InvalidObject
from muster_types import DeviceId

_REQUIRED = ("nodes", "claims")
"""Without these nothing is asked; slices, classes and what is allocated may be left out."""

_NOT_IN_ROWS = ("DeviceTaintRules", "FractionalCapacityRange")
"""Gates that the recorded rows do not name: left out of `features`, they stay as the release has them."""


def solve_problem(row: object) -> dict[str, object]:
    """The answer to one row: `{"id", "nodes": [{"node", "status", "message"?, "claims"?}]}`.

    Objects are taken as written, no defaults filled, as the recorded answers were. Raises InvalidObject for a row that
    is no problem.
    """
    if not isinstance(row, Mapping):
        raise InvalidObject("Problem", "", "", "(line)", "want a JSON object")
    json = cast("Mapping[str, object]", row)
    top = Fields(json, "Problem", "", str(json.get("id", "")))
    features = _features(top)
    catalog = Catalog.build(
        [parse_slice(item.json) for item in top.children("slices")],
        [parse_class(item.json) for item in top.children("classes")],
        taint_rules=[parse_taint_rule(item.json) for item in top.children("taintRules")],
        features=features,
    )
    claims = tuple(parse_claim(item.json, Defaults.AS_WRITTEN) for item in top.children("claims"))
    allocated = AllocatedState.from_devices(_committed(top))
    nodes = [parse_node(item.json) for item in top.children("nodes")]
    absent = [name for name in _REQUIRED if name not in json]
    if absent:
        raise top.wrong(", ".join(absent), "required: a list, which may be empty")
    return {
        "id": json.get("id"),
        "nodes": [answer_json(node.name, allocate(node, claims, catalog, allocated)) for node in nodes],
    }


def answer_json(node: str, outcome: Outcome) -> dict[str, object]:
    """One node's answer in the words of the corpus: ok, none, nodeError, error."""
    match outcome:
        case Allocation(claims):
            return {"node": node, "status": "ok", "claims": [_claim_json(claim) for claim in claims]}
        case Fatal(_, message):
            return {"node": node, "status": "error", "message": message}
        case NodeError():
            return {"node": node, "status": "nodeError", "message": _sentences(outcome)}
        case NoFit():
            return {"node": node, "status": "none", "message": _sentences(outcome)}


def _sentences(refusal: NoFit | NodeError) -> str:
    return "; ".join(reason.sentence() for reason in refusal.reasons)


def _claim_json(claim: ClaimAllocation) -> dict[str, object]:
    selector = claim.node_selector.to_json() if claim.node_selector is not None else None
    return {"results": [_result_json(result) for result in claim.results], "nodeSelector": selector}


def _result_json(result: DeviceResult) -> dict[str, object]:
    if not result.share:
        return result.to_json()
    json = result.to_json("")
    del json["shareID"]
    return json | {"shared": True}


def _features(top: Fields) -> Features:
    """Rows are answered as the release that recorded the corpus: 1.36 with known defects repaired, every gate on.

    `release` ("v1.36", "v1.37") asks for a release as shipped instead, `strict` for the documented meaning.
    """
    chosen = Features(release=Release.V1_36, backports=True, list_type_attributes=True)
    if top.has("release"):
        known = {Release.V1_36.value: Features.v1_36(), Release.V1_37.value: Features.v1_37()}
        release = top.text("release")
        if release not in known:
            raise top.wrong("release", f"{release!r} is not one of {', '.join(known)}")
        chosen = known[release]
    if top.boolean("strict"):
        chosen = replace(chosen, meaning=Meaning.DOCUMENTED)
    if top.has("features"):
        gates = top.child("features")
        for name in gates.json:
            if name not in GATES:
                raise gates.wrong(name, f"there is no such gate; the gates are {', '.join(GATES)}")
        written = {name: bool(gates.boolean(name)) for name in GATES if gates.has(name) or name not in _NOT_IN_ROWS}
        chosen = chosen.with_gates(written)
    return chosen


def _committed(top: Fields) -> Iterable[tuple[AllocatedDevice, str]]:
    for item in top.children("allocated"):
        claim = parse_claim(item.json, Defaults.AS_WRITTEN)
        for device in claim.allocation.devices if claim.allocation is not None else ():
            yield device, claim.full_name
    for text in top.texts("allocatedDevices"):
        yield AllocatedDevice("", _device_id(top, text)), ""
    shared = [text.rpartition("/") for text in top.texts("allocatedShared")]
    amounts = dict(top.named_children("allocatedCapacity"))
    for device, _, share_id in shared:
        yield AllocatedDevice("", _device_id(top, device), share_id=share_id), ""
    for device, capacities in amounts.items():
        consumed = {name: amount.nano for name, amount in capacities.amounts_by_name().items()}
        yield AllocatedDevice("", _device_id(top, device), share_id="(sum)", consumed=consumed), ""


def _device_id(top: Fields, text: str) -> DeviceId:
    driver, first, rest = text.partition("/")
    pool, last, device = rest.rpartition("/")
    if not (first and last):
        raise top.wrong("allocatedDevices", f"{text!r} is not driver/pool/device")
    return DeviceId(driver, pool, device)
