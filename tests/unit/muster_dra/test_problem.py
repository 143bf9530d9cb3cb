"""Rows of JSON lines: what goes in, what comes out, what is refused."""

import pytest

from muster_dra import InvalidObject, solve_problem
from unit.muster_dra.problem_building import CLASSES, claim, device, every, exact, shared, slice_of


def row(**fields: object) -> dict[str, object]:
    return {
        "id": "x",
        "nodes": [{"metadata": {"name": "n1"}}],
        "slices": [slice_of(device("d0"))],
        "classes": list(CLASSES),
        "claims": [claim(exact())],
    } | fields


def answer(**fields: object) -> dict[str, object]:
    nodes = solve_problem(row(**fields))["nodes"]
    assert isinstance(nodes, list)
    return nodes[0]


def test_a_yes_lists_devices_and_node_selector() -> None:
    found = answer()
    assert (found["node"], found["status"]) == ("n1", "ok")
    (made,) = found["claims"]  # type: ignore[misc]  # a list, by the status
    assert made["results"] == [{"request": "r", "driver": "a.example.com", "pool": "p", "device": "d0"}]


def test_a_share_is_marked_and_has_no_id() -> None:
    found = answer(slices=[slice_of(shared("d0", "2"))])
    result = found["claims"][0]["results"][0]  # type: ignore[index]  # a list, by the status
    assert (result["shared"], result["consumedCapacity"], "shareID" in result) == (True, {"c": "2"}, False)


def test_a_no_carries_its_reasons_and_an_error_its_message() -> None:
    assert answer(slices=[]) == {
        "node": "n1",
        "status": "none",
        "message": "claim default/c0, request r: no pool shows this node a device",
    }
    assert answer(claims=[claim(exact(cls="none-such"))])["status"] == "error"


def test_committed_state_may_be_given_in_short() -> None:
    assert answer(allocatedDevices=["a.example.com/p/d0"])["status"] == "none"
    shares = [slice_of(shared("d0", "2"))]
    needs = [claim(exact(needs={"c": "2"}))]
    assert answer(slices=shares, claims=needs, allocatedCapacity={"a.example.com/p/d0": {"c": "1"}})["status"] == "none"
    assert answer(slices=shares, claims=needs, allocatedShared=["a.example.com/p/d0/id"])["status"] == "ok"


def test_a_missing_gate_is_off() -> None:
    needs = [claim(exact(needs={"c": "1"}))]
    assert answer(slices=[slice_of(shared("d0", "2"))], claims=needs, features={})["status"] == "error"


def test_objects_are_taken_as_written() -> None:
    unset = {
        "metadata": {"name": "c"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "any"}}]}},
    }
    assert answer(claims=[unset])["status"] == "error"


@pytest.mark.parametrize(
    ("bad", "field"),
    [([], "(line)"), ({"nodes": 7}, "nodes"), ({"features": {"AdminAccess": 1}}, "features.AdminAccess")],
)
def test_a_line_that_is_no_problem_is_refused(bad: object, field: str) -> None:
    with pytest.raises(InvalidObject) as caught:
        solve_problem(bad)
    assert caught.value.field == field


def test_a_row_may_ask_for_a_release_and_for_the_documented_meaning() -> None:
    """A full shared device leaves "all" in 1.36 and belongs to it since 1.37 (D6)."""
    row = {
        "slices": [slice_of(shared("d0", "2"), shared("d1", "2"))],
        "claims": [claim(every())],
        "allocatedCapacity": {"a.example.com/p/d0": {"c": "2"}},
    }
    assert [answer(**row, **more)["status"] for more in ({}, {"release": "v1.36"}, {"release": "v1.37"})] == [
        "ok",
        "ok",
        "none",
    ]
    broken = {"slices": [slice_of(device("d0"), count=2)], "claims": [claim(every())]}
    assert answer(**broken)["status"] == "error"
    assert answer(**broken, strict=True)["status"] == "nodeError"
    with pytest.raises(InvalidObject, match="release: 'v0' is not one of"):
        answer(release="v0")


def test_a_row_that_asks_nothing_is_refused_with_what_it_lacks() -> None:
    with pytest.raises(InvalidObject, match="nodes, claims: required"):
        solve_problem({})
    with pytest.raises(InvalidObject, match=": claims: required"):
        solve_problem({"nodes": []})
    assert solve_problem({"nodes": [], "claims": []}) == {"id": None, "nodes": []}


def test_a_mistyped_gate_is_refused_and_the_known_ones_are_listed() -> None:
    with pytest.raises(InvalidObject, match=r"features\.AdminAcess: there is no such gate; .* AdminAccess, "):
        solve_problem(row(features={"AdminAcess": True}))


def test_a_request_of_both_forms_is_no_object() -> None:
    """§1.9: exactly one of `exactly` and `firstAvailable`; an empty list is none."""
    both = exact() | {"firstAvailable": [{"name": "x", "deviceClassName": "any"}]}
    with pytest.raises(InvalidObject, match="leave one of the two out") as caught:
        solve_problem(row(claims=[claim(both)]))
    assert caught.value.field == "spec.devices.requests[0].firstAvailable"
    assert answer(claims=[claim(exact() | {"firstAvailable": []})])["status"] == "ok"


@pytest.mark.parametrize(("mode", "told"), [("Some", "allocationMode 'Some' is unknown"), ("", "is missing")])
def test_an_unknown_allocation_mode_says_what_to_write(mode: str, told: str) -> None:
    wanted = {"name": "r", "exactly": {"deviceClassName": "any", "allocationMode": mode, "count": 1}}
    found = answer(claims=[claim(wanted)])
    assert found["status"] == "error"
    assert told in str(found["message"])
    assert str(found["message"]).endswith("write ExactCount or All")
