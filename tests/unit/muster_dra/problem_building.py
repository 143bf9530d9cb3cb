"""Small allocation problems in few words, answered by the engine and by the reference search alike."""

from collections.abc import Sequence
from typing import Any

from muster_dra import (
    AllocatedState,
    Allocation,
    Catalog,
    Defaults,
    Fatal,
    Features,
    NodeError,
    NoFit,
    Outcome,
    allocate,
    parse_claim,
    parse_class,
    parse_node,
    parse_slice,
)
from muster_dra.reference import reference_allocate

LISTS = Features(list_type_attributes=True)
V1_36 = Features.v1_36()
A, B = "a.example.com", "b.example.com"

Json = dict[str, Any]


def device(name: str, **fields: Any) -> Json:
    """`attributes` in short: numbers, texts, booleans and lists of texts; `capacity` as name to quantity or object."""
    short = fields.pop("attributes", {})
    capacity = fields.pop("capacity", {})
    found: Json = {"name": name, "attributes": {key: _attribute(value) for key, value in short.items()}}
    if capacity:
        found["capacity"] = {
            key: value if isinstance(value, dict) else {"value": value} for key, value in capacity.items()
        }
    return found | fields


def _attribute(value: Any) -> Json:
    match value:
        case dict():
            return value
        case bool():
            return {"bool": value}
        case int():
            return {"int": value}
        case list():
            return {"strings" if isinstance(value[0], str) else "ints": value}
        case _:
            return {"string": value}


def shared(name: str, capacity: Any = None, policy: Json | None = None, **fields: Any) -> Json:
    """A device that allows several allocations, with one capacity `c`."""
    if capacity is not None:
        fields["capacity"] = {"c": {"value": capacity, **({"requestPolicy": policy} if policy else {})}}
    return device(name, allowMultipleAllocations=True, **fields)


def draws(counter_set: str = "s", **counters: str) -> list[Json]:
    return [{"counterSet": counter_set, "counters": {key: {"value": value} for key, value in counters.items()}}]


def counters(name: str = "s", **values: str) -> Json:
    return {"name": name, "counters": {key: {"value": value} for key, value in values.items()}}


def taint(effect: str, key: str = "k", value: str = "v") -> Json:
    return {"key": key, "value": value, "effect": effect}


def slice_of(
    *devices: Json,
    driver: str = A,
    pool: str = "p",
    node: str | None = "n1",
    generation: int = 1,
    count: int = 1,
    name: str = "s0",
    **spec: Any,
) -> Json:
    """`node` None: the place is in `spec`, or nowhere."""
    place: Json = {"nodeName": node} if node is not None else {}
    content: Json = {"devices": list(devices)} if devices else {}
    return {
        "metadata": {"name": name},
        "spec": {
            "driver": driver,
            "pool": {"name": pool, "generation": generation, "resourceSliceCount": count},
            **place,
            **content,
            **spec,
        },
    }


def exact(name: str = "r", cls: str = "any", count: int = 1, **fields: Any) -> Json:
    """A request for a number of devices; `cel` are selectors, `needs` capacity by name."""
    return {"name": name, "exactly": _wanted(cls, fields) | {"allocationMode": "ExactCount", "count": count}}


def every(name: str = "r", cls: str = "any", **fields: Any) -> Json:
    """A request for all devices."""
    return {"name": name, "exactly": _wanted(cls, fields) | {"allocationMode": "All"}}


def first(name: str, *alternatives: Json) -> Json:
    """A prioritised request: its alternatives are given as `exact` and `every` make them."""
    return {
        "name": name,
        "firstAvailable": [alternative["exactly"] | {"name": alternative["name"]} for alternative in alternatives],
    }


def _wanted(cls: str, fields: Json) -> Json:
    found: Json = {"deviceClassName": cls}
    if "cel" in fields:
        texts = fields.pop("cel")
        found["selectors"] = [{"cel": {"expression": text}} for text in ([texts] if isinstance(texts, str) else texts)]
    if "needs" in fields:
        found["capacity"] = {"requests": fields.pop("needs")}
    return found | fields


def claim(*requests: Json, match: Sequence[Any] = (), distinct: Sequence[Any] = (), name: str = "c0") -> Json:
    """`match` and `distinct`: attributes, or pairs of an attribute and the requests it concerns."""
    constraints: list[Json] = []
    for kind, entries in (("matchAttribute", match), ("distinctAttribute", distinct)):
        for entry in entries:
            attribute, names = (entry, None) if isinstance(entry, str) else entry
            constraints.append({kind: attribute} | ({"requests": names} if names is not None else {}))
    return {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"devices": {"requests": list(requests), "constraints": constraints}},
    }


def held(name: str, *, driver: str = A, pool: str = "p", by: str = "held", **fields: Any) -> Json:
    """An allocated claim that holds one device."""
    result = {"request": "r", "driver": driver, "pool": pool, "device": name} | fields
    return {
        "metadata": {"name": by, "namespace": "default"},
        "spec": {},
        "status": {"allocation": {"devices": {"results": [result]}}},
    }


CLASSES: tuple[Json, ...] = (
    {"metadata": {"name": "any"}, "spec": {}},
    {"metadata": {"name": "a"}, "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{A}"'}}]}},
    {"metadata": {"name": "b"}, "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{B}"'}}]}},
)


def outcome(
    slices: Sequence[Json],
    *claims: Json,
    allocated: Sequence[Json] = (),
    node: str = "n1",
    labels: dict[str, str] | None = None,
    features: Features | None = None,
    classes: Sequence[Json] = CLASSES,
) -> Outcome:
    """The engine's answer; the reference search must give the same."""
    features = features or Features.v1_37()
    parsed = [parse_slice(item) for item in slices]
    known = [parse_class(item) for item in classes]
    asked = tuple(parse_claim(item, Defaults.AS_WRITTEN) for item in claims)
    state = AllocatedState.from_claims(parse_claim(item) for item in allocated)
    place = parse_node({"metadata": {"name": node, "labels": labels or {}}})
    fast = allocate(place, asked, Catalog.build(parsed, known, features=features), state)
    slow, _ = reference_allocate(place, asked, parsed, {each.name: each for each in known}, state, features)
    assert (said(fast), chosen(fast)) == (said(slow), chosen(slow)), "the reference search says something else"
    if isinstance(fast, Allocation):
        assert fast == slow
    return fast


def said(answer: Outcome) -> str:
    """ok, none, node error or fatal."""
    match answer:
        case Allocation():
            return "ok"
        case NoFit():
            return "none"
        case NodeError():
            return "node error"
        case Fatal():
            return "fatal"


def chosen(answer: Outcome) -> list[str]:
    """`request=device` for each result of all claims; devices of pools other than `p` with their pool."""
    if not isinstance(answer, Allocation):
        return []
    return [
        f"{result.request}={'' if result.device.pool == 'p' else result.device.pool + '/'}{result.device.device}"
        for made in answer.claims
        for result in made.results
    ]


def names(answer: Outcome) -> list[str]:
    """The devices chosen, without requests; [said] when it is no yes."""
    return [one.partition("=")[2] for one in chosen(answer)] if isinstance(answer, Allocation) else [said(answer)]
