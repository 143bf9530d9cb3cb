"""What holds for every allocation, re-checked from the raw objects; and what must not make a difference."""

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from muster_dra import (
    AllocatedState,
    Allocation,
    Catalog,
    DeviceResult,
    Features,
    NodeError,
    NoFit,
    Outcome,
    allocate,
    node_class_key,
    parse_claim,
    parse_class,
    parse_node,
    parse_slice,
)
from muster_types import DeviceId, parse_quantity
from property.dra.comparing import word
from property.dra.problems import problem

SEEDS = st.integers(min_value=10_000_000, max_value=20_000_000)
LISTS = Features(list_type_attributes=True)


def answers(row: Mapping[str, Any], features: Features = LISTS) -> list[Outcome]:
    known = Catalog.build(map(parse_slice, row["slices"]), map(parse_class, row["classes"]), features=features)
    claims = tuple(map(parse_claim, row["claims"]))
    state = AllocatedState.from_claims(map(parse_claim, row["allocated"]))
    return [allocate(parse_node(node), claims, known, state) for node in row["nodes"]]


def picks(found: Allocation, row: Mapping[str, Any]) -> Iterator[tuple[int, DeviceResult, dict[str, Any], bool]]:
    """Claim number, result, the device as published, and whether it allows several allocations."""
    devices = {
        DeviceId(each["spec"]["driver"], each["spec"]["pool"]["name"], device["name"]): device
        for each in row["slices"]
        for device in each["spec"].get("devices", [])
    }
    for number, claim in enumerate(found.claims):
        for result in claim.results:
            device = devices[result.device]
            yield number, result, device, device.get("allowMultipleAllocations", False)


def requests(claim: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Each option of a claim by the name that results carry."""
    found: dict[str, Mapping[str, Any]] = {}
    for request in claim["spec"]["devices"]["requests"]:
        if "exactly" in request:
            found[request["name"]] = request["exactly"]
        for sub in request.get("firstAvailable", []):
            found[f"{request['name']}/{sub['name']}"] = sub
    return found


@settings(max_examples=150, deadline=None)
@given(SEEDS)
def test_no_exclusive_device_is_given_twice_or_away_from_its_holder(seed: int) -> None:
    row = problem(seed)
    held = {
        DeviceId(result["driver"], result["pool"], result["device"])
        for claim in row["allocated"]
        for result in claim["status"]["allocation"]["devices"]["results"]
        if not result.get("adminAccess") and "shareID" not in result
    }
    for found in answers(row):
        if not isinstance(found, Allocation):
            continue
        ordinary: Counter[DeviceId] = Counter()
        in_claim: Counter[tuple[int, DeviceId]] = Counter()
        for number, result, _, shared in picks(found, row):
            assert result.admin_access or result.device not in held
            assert result.share is shared
            if not shared:
                ordinary[result.device] += not result.admin_access
                in_claim[number, result.device] += 1
        assert all(count <= 1 for count in ordinary.values())
        assert all(count == 1 for count in in_claim.values())
        assert all(len(claim.results) <= 32 for claim in found.claims)


@settings(max_examples=150, deadline=None)
@given(SEEDS)
def test_every_request_gets_its_number_and_every_constraint_holds(seed: int) -> None:
    row = problem(seed)
    for found in answers(row):
        if not isinstance(found, Allocation):
            continue
        for number, json in enumerate(row["claims"]):
            results = found.claims[number].results
            by_request = Counter(result.request for result in results)
            options = requests(json)
            for name, count in by_request.items():
                if options[name]["allocationMode"] == "ExactCount":
                    assert count == options[name]["count"]
            for constraint in json["spec"]["devices"]["constraints"]:
                values = _values(constraint, number, found, row)
                if "matchAttribute" in constraint:
                    assert not values or set.intersection(*values), "devices share no value"
                else:
                    assert sum(map(len, values)) == len(set[Any]().union(*values)), "a value occurs twice"


def _values(constraint: Mapping[str, Any], number: int, found: Allocation, row: Mapping[str, Any]) -> list[set[Any]]:
    attribute = constraint.get("matchAttribute") or constraint["distinctAttribute"]
    named = constraint.get("requests")
    values: list[set[Any]] = []
    for claim, result, device, _ in picks(found, row):
        if claim != number or not (named is None or {result.request, result.request.partition("/")[0]} & set(named)):
            continue
        domain, _, short = attribute.partition("/")
        published = device["attributes"].get(attribute)
        if published is None and domain == result.device.driver:
            published = device["attributes"].get(short)
        assert published, "a constraint without a value"
        ((kind, value),) = published.items()
        values.append({(kind.rstrip("s"), one) for one in (value if isinstance(value, list) else [value])})
    return values


@settings(max_examples=150, deadline=None)
@given(SEEDS)
def test_counters_and_capacities_are_never_overdrawn_by_what_is_chosen(seed: int) -> None:
    row = problem(seed)
    if "-" in str([row["slices"], row["claims"], row["allocated"]]).replace("gpu-", "").replace("nic-", ""):
        row = _without_negatives(row)
    for found in answers(row):
        if not isinstance(found, Allocation):
            continue
        drawn: dict[tuple[str, str, str, str], int] = defaultdict(int)
        taken: dict[tuple[DeviceId, str], int] = defaultdict(int)
        paid: set[DeviceId] = set()
        for _, result, device, shared in picks(found, row):
            if not (shared and result.device in paid):
                paid.add(result.device)
                for each in device.get("consumesCounters", []):
                    for counter, amount in each["counters"].items():
                        key = result.device.driver, result.device.pool, each["counterSet"], counter
                        drawn[key] += parse_quantity(amount["value"])
            for name, amount in result.consumed.items():
                taken[result.device, name] += amount.nano
                assert taken[result.device, name] <= parse_quantity(device["capacity"][name]["value"])
        for each in row["slices"]:
            for counter_set in each["spec"].get("sharedCounters", []):
                for counter, amount in counter_set["counters"].items():
                    key = each["spec"]["driver"], each["spec"]["pool"]["name"], counter_set["name"], counter
                    assert drawn[key] <= parse_quantity(amount["value"])


def _without_negatives(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_negatives(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_negatives(item) for item in value]
    return value[1:] if isinstance(value, str) and value[:1] == "-" and value[1:].isdigit() else value


@settings(max_examples=100, deadline=None)
@given(SEEDS, st.integers())
def test_the_order_of_slices_makes_no_difference(seed: int, order: int) -> None:
    row = problem(seed)
    shuffled = list(row["slices"])
    random.Random(order).shuffle(shuffled)
    assert _plain(answers(row)) == _plain(answers(row | {"slices": shuffled}))


@settings(max_examples=100, deadline=None)
@given(SEEDS)
def test_a_catalogue_gives_its_answers_twice(seed: int) -> None:
    row = problem(seed)
    known = Catalog.build(map(parse_slice, row["slices"]), map(parse_class, row["classes"]), features=LISTS)
    claims = tuple(map(parse_claim, row["claims"]))
    state = AllocatedState.from_claims(map(parse_claim, row["allocated"]))
    nodes = [parse_node(node) for node in row["nodes"]]
    first = [allocate(node, claims, known, state) for node in nodes]
    assert _plain(first) == _plain([allocate(node, claims, known, state) for node in nodes])


@settings(max_examples=100, deadline=None)
@given(SEEDS)
def test_nodes_of_one_class_have_one_outcome(seed: int) -> None:
    row = problem(seed)
    known = Catalog.build(map(parse_slice, row["slices"]), map(parse_class, row["classes"]), features=LISTS)
    claims = tuple(map(parse_claim, row["claims"]))
    state = AllocatedState.from_claims(map(parse_claim, row["allocated"]))
    outcomes: dict[object, set[str]] = defaultdict(set)
    for node in map(parse_node, row["nodes"]):
        for given_claims in (None, claims):
            key = node_class_key(node, known, state, given_claims)
            outcomes[given_claims is None, key].add(word(allocate(node, claims, known, state)))
    assert all(len(words) == 1 for words in outcomes.values())


@settings(max_examples=100, deadline=None)
@given(SEEDS)
def test_a_no_has_a_reason_and_every_reason_a_sentence(seed: int) -> None:
    for found in answers(problem(seed)):
        if isinstance(found, NoFit | NodeError):
            assert found.reasons
            assert all(reason.sentence() and "  " not in reason.sentence() for reason in found.reasons)


def _plain(found: list[Outcome]) -> list[object]:
    return [one.claims if isinstance(one, Allocation) else word(one) for one in found]
