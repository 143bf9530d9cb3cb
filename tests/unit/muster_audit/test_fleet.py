from muster_audit.fleet import Fleet, Specs, busy_devices, free_counts
from muster_dra import Allocation, Features, NoFit, ResourceClaim, parse_claim
from muster_dra.outcome import Fatal
from muster_plan import Snapshot
from support.cluster_objects import Json, a_claim, a_class, a_node, a_request, a_running, a_slice, gpus


def fleet(*objects: Json) -> Fleet:
    nodes = [each for name in "abc" for each in (a_node(name), a_slice(name, gpus(2)))]
    snapshot = Snapshot.build([*nodes, a_class(), *objects], features=Features.v1_37())
    return Fleet(snapshot, snapshot.allocated)


def claim(count: int) -> ResourceClaim:
    return parse_claim(a_claim("new", a_request(count=count)))


def test_equal_nodes_give_one_answer() -> None:
    answers = fleet(*a_running("r", "gpu-0", node="b")).answers([claim(2)])
    assert len(answers.outcomes) == 2
    assert [type(answers.of(place)) for place in range(3)] == [Allocation, NoFit, Allocation]


def test_nothing_asked_fits_everywhere_and_answers_are_remembered() -> None:
    one = fleet()
    assert len(one.answers([]).outcomes) == 1
    wanted = [claim(1)]
    assert one.answers(wanted) is one.answers(wanted)


def test_free_devices_are_counted_by_node_and_request() -> None:
    assert fleet(*a_running("r", "gpu-0", node="b")).free([claim(2)]) == ((2,), (1,), (2,))


def test_free_devices_of_all_are_all_or_none() -> None:
    one = fleet(*a_running("r", "gpu-0", node="b"))
    every = parse_claim(a_claim("all", a_request(allocationMode="All")))
    plans = one.catalog.plans([every])
    assert not isinstance(plans, Fatal)
    counts = [free_counts(node.node, plans, one.catalog, one.allocated) for node in one.nodes]
    assert counts[0] == (2,)


def test_busy_devices_are_those_that_somebody_holds() -> None:
    one = fleet(*a_running("r", "gpu-0", node="b"))
    busy = [busy_devices(node.node, one.catalog, one.allocated, frozenset()) for node in one.nodes]
    assert busy == [(0, 2), (1, 2), (0, 2)]
    assert busy_devices(one.nodes[0].node, one.catalog, one.allocated, frozenset({"other"})) == (0, 0)


def test_specs_of_one_content_are_one_value() -> None:
    specs = Specs()
    assert specs.one(claim(1).spec) is specs.one(claim(1).spec)
    assert specs.one(claim(1).spec) is not specs.one(claim(2).spec)
