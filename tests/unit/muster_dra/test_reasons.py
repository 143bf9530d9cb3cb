"""Every no says why: the code, the data, the sentence."""

from typing import Any

import pytest

from muster_dra import (
    AllocatedState,
    Catalog,
    Fatal,
    Features,
    NodeError,
    NoFit,
    Reason,
    ReasonCode,
    allocate,
    parse_claim,
    parse_class,
    parse_node,
    parse_slice,
    parse_taint_rule,
)
from unit.muster_dra.problem_building import (
    CLASSES,
    A,
    B,
    chosen,
    claim,
    counters,
    device,
    draws,
    every,
    exact,
    first,
    held,
    outcome,
    shared,
    slice_of,
    taint,
)

NUMA = f"{A}/numa"


def reasons(slices: list[dict[str, Any]], *claims: dict[str, Any], **more: Any) -> tuple[Reason, ...]:
    found = outcome(slices, *claims, **more)
    assert isinstance(found, NoFit | NodeError)
    assert found.reasons, "a no without reason"
    return found.reasons


def reason(slices: list[dict[str, Any]], *claims: dict[str, Any], **more: Any) -> Reason:
    return reasons(slices, *claims, **more)[0]


def gpus(*numas: int) -> dict[str, Any]:
    return slice_of(*(device(f"gpu-{index}", attributes={"numa": numa}) for index, numa in enumerate(numas)))


def test_the_nearest_miss_of_a_constraint_names_value_number_and_the_odd_device() -> None:
    found = reason([gpus(0, 1, 1, 1)], claim(exact(count=4), match=[NUMA]))
    assert (found.code, found.found, found.wanted, found.missing) == (ReasonCode.MATCH_UNMET, 3, 4, 1)
    assert found.sentence() == (
        "claim default/c0, request r, pool a.example.com/p: 3 of 4 devices share numa=1; gpu-0 has numa=0"
    )


def test_a_constraint_tells_who_holds_the_devices_that_would_do() -> None:
    found = reason([gpus(1, 1, 0)], claim(exact(count=2), match=[NUMA]), allocated=[held("gpu-0", by="x")])
    assert found.holders == ("default/x",)
    assert found.sentence().endswith("others with numa=1 are held by claim default/x")


def test_a_capacity_that_no_device_has_is_compared_with_the_largest() -> None:
    slices = [slice_of(device("d0", capacity={"memory": "40Gi"}), device("d1", capacity={"memory": "24Gi"}))]
    found = reason(slices, claim(exact(needs={"memory": "80Gi"})))
    assert found.code is ReasonCode.CAPACITY_TOO_SMALL
    assert found.text() == "memory 80Gi wanted, largest matching device has 40Gi"


def test_what_is_left_of_shared_devices_is_compared_with_what_is_wanted() -> None:
    taken = [held("d0", by="x", shareID="1", consumedCapacity={"c": "6"})]
    found = reason([slice_of(shared("d0", "10"))], claim(exact(needs={"c": "5"})), allocated=taken)
    assert found.code is ReasonCode.CAPACITY_USED
    assert found.text() == "c 5 wanted, largest free device has 4, the rest is held by default/x"


def test_a_policy_says_what_it_allows() -> None:
    slices = [slice_of(shared("d0", "10", {"default": "1", "validRange": {"min": "1", "max": "4", "step": "1"}}))]
    found = reason(slices, claim(exact(needs={"c": "6"})))
    assert found.text() == "c 6 wanted, the devices' request policy allows 1 to 4 in steps of 1"


def test_a_capacity_nobody_publishes_is_named() -> None:
    found = reason([slice_of(shared("d0", "10"))], claim(exact(needs={"memory": "1"})))
    assert (found.code, found.subject) == (ReasonCode.CAPACITY_MISSING, "memory")


def test_a_half_updated_pool_counts_its_slices() -> None:
    found = reasons([slice_of(device("d0"), count=2, generation=7)], claim(exact()))
    assert [one.code for one in found] == [ReasonCode.POOL_INCOMPLETE, ReasonCode.NO_DEVICES]
    assert found[0].sentence() == "pool a.example.com/p half updated: 1 of 2 slices of generation 7"


def test_an_unusable_pool_that_would_not_help_comes_last() -> None:
    slices = [slice_of(device("d0")), slice_of(device("e0"), driver=B, count=2, name="s1")]
    found = reasons(slices, claim(exact(cls="a", count=2)))
    assert [one.code for one in found] == [ReasonCode.TOO_FEW_MATCH, ReasonCode.POOL_INCOMPLETE]


def test_an_invalid_pool_says_what_is_wrong_with_it() -> None:
    slices = [slice_of(device("d0"), count=2), slice_of(device("d0"), count=2, name="s1")]
    assert reason(slices, claim(exact())).text() == "pool a.example.com/p invalid: device d0 is published twice"


def test_devices_in_use_name_their_holders() -> None:
    slices = [slice_of(device("d0"), device("d1"))]
    taken = [held("d0", by="x"), held("d1", by="y")]
    found = reason(slices, claim(exact()), allocated=taken)
    assert found.code is ReasonCode.HELD
    assert found.text() == "all matching devices are held by claims default/x, default/y"


def test_a_taint_is_named() -> None:
    slices = [slice_of(device("d0", taints=[taint("NoSchedule", key="maintenance", value="")]))]
    found = reason(slices, claim(exact()))
    assert found.text() == "1 device wanted, 0 without taint; d0 tainted maintenance:NoSchedule"


def test_a_selector_that_matches_nothing_is_quoted_and_told_from_the_class() -> None:
    text = f'device.attributes["{A}"].numa == 7'
    found = reason([gpus(0, 1)], claim(exact(cls="a", cel=text)))
    assert (found.code, found.subject, found.found) == (ReasonCode.SELECTOR_MATCHES_NOTHING, text, 2)
    assert reason([gpus(0, 1)], claim(exact(cls="b"))).code is ReasonCode.CLASS_MATCHES_NOTHING


def test_an_attribute_that_is_not_published_is_named() -> None:
    found = reason([gpus(0, 1)], claim(exact(count=2), match=[f"{A}/numaNode"]))
    assert (found.code, found.subject, found.found) == (ReasonCode.ATTRIBUTE_MISSING, f"{A}/numaNode", 0)


def test_too_few_different_values_are_counted() -> None:
    found = reason([gpus(0, 0, 1)], claim(exact(count=3), distinct=[NUMA]))
    assert (found.code, found.found, found.wanted) == (ReasonCode.DISTINCT_UNMET, 2, 3)
    assert found.text() == f"3 different values of {NUMA} wanted, at most 2 can be had; the free devices have 0, 1"


def test_exhausted_counters_name_the_counter_and_who_draws_it() -> None:
    slices = [
        slice_of(
            device("half-0", consumesCounters=draws(memory="40Gi")),
            device("half-1", consumesCounters=draws(memory="40Gi")),
            device("whole", attributes={"whole": True}, consumesCounters=draws(memory="80Gi")),
            count=2,
        ),
        slice_of(count=2, name="sets", sharedCounters=[counters("s", memory="80Gi")]),
    ]
    whole = f'"whole" in device.attributes["{A}"]'
    found = reason(slices, claim(exact(cel=whole)), allocated=[held("half-0", by="x")])
    assert found.code is ReasonCode.COUNTERS_USED
    assert found.text() == "counter s/memory: 80Gi needed, 40Gi left, held by default/x"
    together = reason(slices, claim(exact(count=3)))
    assert (together.code, together.found) == (ReasonCode.COUNTERS_SHARED, 2)
    assert together.text() == (
        "3 devices wanted, at most 2 can be had together: they draw on counter s/memory, 160Gi needed, 80Gi left"
    )


def test_counters_of_several_sets_that_are_short_together_are_listed() -> None:
    halves = [device(f"d{i}", consumesCounters=draws(f"s{i // 2}", memory="80Gi")) for i in range(4)]
    sets = slice_of(count=2, name="sets", sharedCounters=[counters("s0", memory="80Gi"), counters("s1", memory="80Gi")])
    found = reason([slice_of(*halves, count=2), sets], claim(exact(count=3)))
    assert found.text() == (
        "3 devices wanted, at most 2 can be had together: they draw on "
        "the same counters: s0/memory (80Gi left), s1/memory (80Gi left)"
    )


def test_devices_bound_to_other_nodes_are_told_apart() -> None:
    devices = device("here", nodeName="n1"), device("there", nodeName="n2")
    slices = [slice_of(*devices, node=None, perDeviceNodeSelection=True)]
    found = reason(slices, claim(exact(count=2)))
    assert found.text() == "2 devices wanted, 1 usable here; there bound to other nodes"


def test_a_gate_that_is_off_is_named() -> None:
    slices = [slice_of(device("d0", bindingConditions=["x"]))]
    found = reason(slices, claim(exact()), features=Features(binding_conditions=False))
    assert (found.code, found.subject) == (ReasonCode.FEATURE_OFF, "DRADeviceBindingConditions")


def test_all_devices_say_which_one_is_missing() -> None:
    found = reason([gpus(0, 1)], claim(every()), allocated=[held("gpu-1", by="x")])
    assert found.text() == "all 2 devices wanted, gpu-1 held by claim default/x"
    nothing = reason([gpus(0)], claim(every(cls="b")))
    assert nothing.code is ReasonCode.ALL_OF_NONE
    assert nothing.text() == (
        "all matching devices wanted, there is none: class b does not match the only device here: "
        f'device.driver == "{B}"'
    )


def test_alternatives_fail_each_for_its_own_reason_and_the_nearest_counts() -> None:
    found = reason([gpus(0, 1)], claim(first("r", exact("x", count=5), exact("y", count=3))))
    assert (found.code, found.value, found.missing) == (ReasonCode.NO_ALTERNATIVE, "r/y", 1)
    assert [cause.missing for cause in found.causes] == [3, 1]


def test_requests_that_fit_alone_compete() -> None:
    found = reason([gpus(0, 1, 1)], claim(exact("r", count=2), exact("s", count=2)))
    assert (found.code, found.request, found.wanted, found.found) == (ReasonCode.REQUESTS_COMPETE, "s", 4, 3)


def test_constraints_that_can_be_met_one_by_one_clash() -> None:
    devices = [device(f"d{i}", attributes={"numa": i % 2, "rack": i // 2}) for i in range(4)]
    found = reason([slice_of(*devices)], claim(exact(count=2), match=[NUMA, f"{A}/rack"]))
    assert found.code is ReasonCode.CONSTRAINTS_CLASH
    assert found.subject == "same numa over r, same rack over r"


def test_claims_of_a_pod_compete() -> None:
    found = reason([gpus(0)], claim(exact()), claim(exact(), name="c1"))
    assert found.sentence() == (
        "claim default/c1, pool a.example.com/p: fits alone, but not beside default/c0 of the same pod: "
        "together they want 2 devices, 1 can be had"
    )


def test_admin_access_listed_first_is_in_the_way_of_later_claims_only() -> None:
    """Trap 48."""
    found = reason([gpus(0)], claim(exact(adminAccess=True)), claim(exact(), name="c1"))
    assert (found.code, found.subject) == (ReasonCode.CLAIMS_COMPETE, "default/c1")
    assert "it would fit if it were listed first" in found.sentence()
    assert chosen(outcome([gpus(0)], claim(exact(), name="c1"), claim(exact(adminAccess=True)))) == ["r=gpu-0"] * 2


def test_devices_of_several_pools_are_named_with_their_pool() -> None:
    slices = [slice_of(device("d0")), slice_of(device("d0"), pool="q", name="s1")]
    taken = [held("d0", by="x")]
    found = reason(slices, claim(every()), allocated=taken)
    assert found.sentence() == (
        "claim default/c0, request r, pools a.example.com/p, a.example.com/q: "
        "all 2 devices wanted, p/d0 held by claim default/x"
    )
    same_name = [slice_of(device("d0")), slice_of(device("d0"), driver=B, name="s1")]
    assert "a.example.com/p/d0 held by" in reason(same_name, claim(every()), allocated=taken).sentence()


def test_an_attribute_of_another_domain_keeps_it() -> None:
    standard = "resource.kubernetes.io/numaNode"
    devices = [device(f"d{i}", attributes={standard: i}) for i in range(2)]
    found = reason([slice_of(*devices)], claim(exact(count=2), match=[standard]))
    assert found.text() == f"1 of 2 devices share {standard}=0; d1 has {standard}=1"


def test_a_constraint_over_several_requests_names_them() -> None:
    found = reason([gpus(0, 1)], claim(exact("r"), exact("s"), match=[NUMA]))
    assert found.sentence().startswith("claim default/c0, requests r, s, pool a.example.com/p: 1 of 2 devices share")


def test_devices_beside_shared_counters_are_said_to_be_ignored() -> None:
    """Trap 60."""
    mixed = slice_of(device("d0"), sharedCounters=[counters("s", memory="80Gi")])
    found = reason([mixed], claim(exact()))
    assert (found.code, found.found) == (ReasonCode.DEVICES_IGNORED, 1)
    assert found.sentence() == (
        "slice s0 of pool a.example.com/p holds shared counters, so the scheduler does not see its 1 device; "
        "publish devices and counters in slices of their own"
    )
    others = [one.code for one in reasons([mixed], claim(exact(cls="b")))]
    assert ReasonCode.DEVICES_IGNORED not in others, "a device that no selector matches would not help"


def test_every_taint_is_named_and_the_rule_that_it_comes_from() -> None:
    taints = [taint("NoSchedule", key="old", value=""), taint("NoExecute", key="broken", value="")]
    rule = {
        "metadata": {"name": "drain"},
        "spec": {"deviceSelector": {"device": "d0"}, "taint": taint("NoSchedule", key="drain", value="")},
    }
    catalog = Catalog.build(
        [parse_slice(slice_of(device("d0", taints=taints)))],
        map(parse_class, CLASSES),
        taint_rules=[parse_taint_rule(rule)],
    )
    tolerant = exact(tolerations=[{"key": "old", "operator": "Exists"}])
    node = parse_node({"metadata": {"name": "n1"}})
    found = allocate(node, [parse_claim(claim(tolerant))], catalog, AllocatedState.from_claims(()))
    assert isinstance(found, NoFit)
    assert found.reasons[0].subject == "broken:NoExecute, drain:NoSchedule (DeviceTaintRule drain)"


def test_alternatives_that_fit_may_be_too_many_together() -> None:
    sides = [
        first(name, every("x", cel=f'device.attributes["{A}"].numa == {numa}'), exact("y", cls="b", count=1))
        for numa, name in enumerate(("r", "s"))
    ]
    found = reason([gpus(*[0] * 20, *[1] * 20)], claim(*sides))
    assert (found.code, found.request, found.wanted, found.found) == (ReasonCode.TOO_MANY_DEVICES, "s", 40, 32)
    assert found.text() == "the alternatives that fit would give the claim at least 40 devices, 32 are allowed"


def test_too_many_devices_name_number_and_request() -> None:
    found = outcome([gpus(0)], claim(exact("r", count=20), exact("s", count=20)))
    assert isinstance(found, Fatal)
    assert found.message == "claim default/c0, request s: the claim asks for at least 40 devices, the limit is 32"


@pytest.mark.parametrize(
    ("constraint", "told"),
    [
        ({"match": [NUMA]}, f"matchAttribute {NUMA}: it has numa=1, gpu-0 has numa=0"),
        ({"match": [f"{A}/rack"]}, f"matchAttribute {A}/rack wants a value and gpu-0 has none"),
    ],
)
def test_one_of_all_that_a_constraint_refuses_is_named_with_the_values(constraint: dict[str, Any], told: str) -> None:
    found = outcome([gpus(0, 1)], claim(every(), **constraint))
    assert isinstance(found, Fatal)
    assert found.message.startswith("claim default/c0, request r: all matching devices are wanted, but not device ")
    assert found.message.endswith(told)


def test_two_of_all_with_one_value_are_named() -> None:
    found = outcome([gpus(0, 0)], claim(every(), distinct=[NUMA]))
    assert isinstance(found, Fatal)
    assert found.message.endswith(f"distinctAttribute {NUMA}: it has numa=0, gpu-0 has it too")


def test_all_devices_of_an_unusable_pool_say_what_is_wrong_with_it() -> None:
    found = outcome([slice_of(device("d0"), count=2, generation=7)], claim(every()))
    assert isinstance(found, Fatal)
    assert found.message == (
        "claim default/c0, request r: asks for all devices, but pool a.example.com/p half updated: "
        "1 of 2 slices of generation 7"
    )


def test_an_expression_that_fails_names_claim_request_and_device_once() -> None:
    found = outcome([gpus(0)], claim(exact(cel=f'device.attributes["{A}"].none == 1')))
    assert isinstance(found, Fatal)
    assert found.message.startswith(
        "claim default/c0, request r, device a.example.com/p/gpu-0: selector #0: CEL runtime error: "
    )
    assert found.message.count("claim default/c0") == 1


def test_a_node_without_devices_says_so() -> None:
    assert reason([], claim(exact())).text() == "no pool shows this node a device"


def test_reasons_are_given_to_programs_too() -> None:
    json = reason([gpus(0, 1, 1, 1)], claim(exact(count=4), match=[NUMA])).to_json()
    assert json["code"] == "match-unmet"
    assert json["devices"] == [f"{A}/p/gpu-1", f"{A}/p/gpu-2", f"{A}/p/gpu-3", f"{A}/p/gpu-0"]
    assert (json["wanted"], json["found"]) == (4, 3)
