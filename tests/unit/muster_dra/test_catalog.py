"""Catalogues: what a node sees, and that a changed slice gives what a new catalogue would give."""

import pytest

from muster_dra import (
    AllocatedState,
    Catalog,
    Features,
    Meaning,
    Node,
    Outcome,
    PoolDefect,
    PoolState,
    UnreadableSelector,
    allocate,
    parse_claim,
    parse_class,
    parse_slice,
    parse_taint_rule,
)
from muster_types import NodeName
from unit.muster_dra.problem_building import (
    CLASSES,
    claim,
    counters,
    device,
    draws,
    every,
    exact,
    held,
    names,
    said,
    slice_of,
)

NODES = [Node(NodeName(f"n{index}"), {"zone": f"z{index % 2}"}) for index in range(4)]
CLAIMS = (parse_claim(claim(exact(count=2))),)


def fleet() -> list[dict[str, object]]:
    slices = [
        slice_of(device("d0"), device("d1"), node=node.name, pool=node.name, name=f"s-{node.name}") for node in NODES
    ]
    zone = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z1"]}]}]}
    return [*slices, slice_of(device("f0"), node=None, pool="fabric", name="fabric", nodeSelector=zone)]


def catalog(slices: list[dict[str, object]], features: Features | None = None) -> Catalog:
    return Catalog.build(map(parse_slice, slices), map(parse_class, CLASSES), features=features or Features.v1_37())


def answers(known: Catalog, state: AllocatedState | None = None) -> list[Outcome]:
    return [allocate(node, CLAIMS, known, state or AllocatedState.empty()) for node in NODES]


CHANGES = {
    "a device less": ([slice_of(device("d0"), node="n1", pool="n1", name="s-n1")], []),
    "a slice gone": ([], ["s-n2"]),
    "moved to another node": ([slice_of(device("x0"), device("x1"), node="n3", pool="n1", name="s-n1")], []),
    "network for all": (
        [slice_of(device("f0"), device("f1"), node=None, pool="fabric", name="fabric", allNodes=True)],
        [],
    ),
    "half updated": ([slice_of(device("d0"), node="n0", pool="n0", name="new", generation=2, count=2)], []),
    "nothing known": ([], ["no-such-slice"]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_catalogue_answers_as_a_new_one(change: str) -> None:
    put, gone = CHANGES[change]
    before = catalog(fleet())
    old = answers(before)
    changed = before.with_slices(map(parse_slice, put), gone)
    replaced = {each["metadata"]["name"] for each in put} | set(gone)  # type: ignore[index]  # JSON of known shape
    slices = [each for each in fleet() if each["metadata"]["name"] not in replaced]  # type: ignore[index]
    assert answers(changed) == answers(catalog([*slices, *put]))
    assert answers(before) == old, "the catalogue before is untouched"


def test_pools_of_a_node_come_with_their_state_and_reason() -> None:
    known = catalog([slice_of(device("d0"), count=2), slice_of(device("e0"), pool="q", name="s1")])
    pools = known.pools_of(Node(NodeName("n1")))
    assert not isinstance(pools, UnreadableSelector)
    half, whole = pools
    assert (half.state, whole.state) == (PoolState.INCOMPLETE, PoolState.COMPLETE)
    assert half.reason is not None
    assert half.reason.defect is PoolDefect.MISSING_SLICES
    assert half.reason.sentence(half.id) == "pool a.example.com/p half updated: 1 of 2 slices of generation 1"


def test_nodes_of_one_make_share_their_shape() -> None:
    known = catalog(fleet())
    views = [known.view(node) for node in NODES]
    assert not any(isinstance(view, UnreadableSelector) for view in views)
    assert views[0].shape is views[2].shape  # type: ignore[union-attr]  # no view is unreadable
    assert views[1].shape is views[3].shape  # type: ignore[union-attr]
    assert views[0].shape is not views[1].shape  # type: ignore[union-attr]  # it sees the network too


def test_a_taint_rule_acts_before_allocation_and_on_later_slices_too() -> None:
    rule = parse_taint_rule(
        {
            "metadata": {"name": "r"},
            "spec": {"deviceSelector": {"pool": "n1"}, "taint": {"key": "k", "effect": "NoSchedule"}},
        }
    )
    known = Catalog.build(map(parse_slice, fleet()), map(parse_class, CLASSES), taint_rules=[rule])
    assert [said(one) for one in answers(known)] == ["ok", "none", "ok", "ok"]
    again = known.with_slices([parse_slice(fleet()[1])])
    assert [said(one) for one in answers(again)] == ["ok", "none", "ok", "ok"]
    without = Catalog.build(
        map(parse_slice, fleet()), map(parse_class, CLASSES), taint_rules=[rule], features=Features.v1_36()
    )
    assert [said(one) for one in answers(without)] == ["ok"] * 4, "the gate is off in 1.36"


def test_a_rule_without_selector_taints_everything_upstream_and_nothing_as_documented() -> None:
    rule = parse_taint_rule({"metadata": {"name": "r"}, "spec": {"taint": {"key": "k", "effect": "NoSchedule"}}})
    for meaning, expected in ((Meaning.UPSTREAM, "none"), (Meaning.DOCUMENTED, "ok")):
        known = Catalog.build(
            map(parse_slice, fleet()),
            map(parse_class, CLASSES),
            taint_rules=[rule],
            features=Features(meaning=meaning),
        )
        assert said(answers(known)[0]) == expected


def test_a_partition_that_vanished_still_draws_its_counters_as_documented() -> None:
    def published(*devices: str, generation: int) -> list[dict[str, object]]:
        parts = [device(name, consumesCounters=draws(m="20")) for name in devices]
        return [
            slice_of(*parts, count=2, generation=generation, name="parts"),
            slice_of(count=2, generation=generation, name="sets", sharedCounters=[counters(m="40")]),
        ]

    taken = AllocatedState.from_claims([parse_claim(held("half-0"))])
    asked = (parse_claim(claim(exact(count=2))),)
    node = Node(NodeName("n1"))
    for meaning, expected in ((Meaning.UPSTREAM, ["half-1", "half-2"]), (Meaning.DOCUMENTED, ["none"])):
        before = catalog(published("half-0", "half-1", generation=1), Features(meaning=meaning))
        after = before.with_slices(map(parse_slice, published("half-1", "half-2", generation=2)))
        assert names(allocate(node, asked, after, taken)) == expected


def test_all_devices_and_a_broken_pool_is_a_node_error_as_documented() -> None:
    known = catalog([slice_of(device("d0"), count=2)], Features(meaning=Meaning.DOCUMENTED))
    found = allocate(Node(NodeName("n1")), (parse_claim(claim(every())),), known, AllocatedState.empty())
    assert said(found) == "node error"
