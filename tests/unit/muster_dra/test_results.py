"""What an allocation looks like: Kubernetes form, configurations, and their differences between releases."""

import pytest

from muster_dra import Allocation, ClaimAllocation, Features
from unit.muster_dra.problem_building import CLASSES, V1_36, claim, device, exact, first, outcome, shared, slice_of

FAST = {"opaque": {"driver": "a.example.com", "parameters": {"mode": "fast"}}}
TUNED = {"metadata": {"name": "tuned"}, "spec": {"config": [FAST]}}
SLICES = [slice_of(device("d0"), device("d1"), device("d2"))]


def made(
    *requests: dict[str, object], config: list[dict[str, object]], features: Features | None = None
) -> ClaimAllocation:
    asked = claim(*requests)
    asked["spec"]["devices"]["config"] = config
    found = outcome(SLICES, asked, classes=[*CLASSES, TUNED], features=features)
    assert isinstance(found, Allocation)
    return found.claims[0]


def configs(allocation: ClaimAllocation) -> list[tuple[str, tuple[str, ...]]]:
    return [(one.source.value, one.requests) for one in allocation.config]


def test_a_class_gives_its_configuration_once_for_all_requests_that_use_it() -> None:
    found = made(exact("r", cls="tuned"), exact("s", cls="tuned"), exact("t"), config=[])
    assert configs(found) == [("FromClass", ("r", "s"))]


def test_a_configuration_for_every_request_names_none_since_1_37() -> None:
    own = [{"requests": ["r"], **FAST}]
    assert configs(made(exact("r"), config=own)) == [("FromClaim", ())]
    assert configs(made(exact("r"), config=own, features=V1_36)) == [("FromClaim", ("r",))]


def test_a_configuration_is_repeated_for_each_request_up_to_1_36() -> None:
    own = [{"requests": ["r", "s"], **FAST}]
    assert configs(made(exact("r"), exact("s"), exact("t"), config=own)) == [("FromClaim", ("r", "s"))]
    old = made(exact("r"), exact("s"), exact("t"), config=own, features=V1_36)
    assert configs(old) == [("FromClaim", ("r", "s"))] * 2


def test_a_configuration_for_an_alternative_that_was_not_chosen_is_dropped() -> None:
    request = first("r", exact("x", cls="b"), exact("y"))
    own = [{"requests": ["r/x"], **FAST}, {"requests": ["r/y"], **FAST}, {"requests": [], **FAST}]
    found = made(request, exact("s"), config=own)
    assert configs(found) == [("FromClaim", ("r/y",)), ("FromClaim", ())]


def test_the_kubernetes_form_of_an_allocation_takes_its_share_ids_from_the_caller() -> None:
    slices = [slice_of(shared("d0", "4"), device("d1"))]
    found = outcome(slices, claim(exact("r", needs={"c": "1"}, cel="device.allowMultipleAllocations"), exact("s")))
    assert isinstance(found, Allocation)
    json = found.claims[0].to_json(["id-1"])
    place = {"driver": "a.example.com", "pool": "p"}
    assert json == {
        "devices": {
            "results": [
                {"request": "r", **place, "device": "d0", "shareID": "id-1", "consumedCapacity": {"c": "1"}},
                {"request": "s", **place, "device": "d1"},
            ]
        },
        "nodeSelector": {
            "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]
        },
    }
    with pytest.raises(ValueError, match="1 shares need as many ids, got 0"):
        found.claims[0].to_json()
    with pytest.raises(ValueError, match="a share needs an id"):
        found.claims[0].results[0].to_json()


def test_what_comes_with_a_result_is_copied_from_request_and_device() -> None:
    slices = [slice_of(device("d0", bindingConditions=["ready"]))]
    asked = claim(
        exact(tolerations=[{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}])
    )
    found = outcome(slices, asked)
    assert isinstance(found, Allocation)
    json = found.claims[0].results[0].to_json()
    assert json["tolerations"] == [{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}]
    assert json["bindingConditions"] == ["ready"]
