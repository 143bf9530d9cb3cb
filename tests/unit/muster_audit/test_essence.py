from muster_audit.essence import essential
from muster_dra import Features
from muster_plan import Snapshot
from support.audits import audited
from support.cluster_objects import GPU, Json, a_class, a_device, a_node, a_request, a_slice, a_waiting


def fleet() -> list[Json]:
    def devices(node: str) -> list[Json]:
        return [a_device(f"gpu-{index}", uuid=f"{node}-{index}", numa=index) for index in range(2)]

    return [a_node("a"), a_node("b"), a_class(), a_slice("a", devices("a")), a_slice("b", devices("b"))]


def kept(*objects: Json) -> set[str]:
    snapshot = essential(Snapshot.build([*fleet(), *objects], features=Features.v1_37()))
    return {name for slice_ in snapshot.tables.slices.values() for each in slice_.devices for name in each.attributes}


def test_attributes_that_nothing_names_are_left_out_and_equal_slices_become_one_value() -> None:
    snapshot = essential(Snapshot.build(fleet(), features=Features.v1_37()))
    first, second = snapshot.tables.slices.values()
    assert first.devices is second.devices
    assert kept() == set()


def test_what_a_selector_or_constraint_names_stays_in_every_domain() -> None:
    selector = a_request("g", GPU, 'device.attributes["other.example.com"].uuid == "x"')
    assert kept(*a_waiting("p", selector)) == {"uuid"}
    constraint = [{"matchAttribute": "resource.kubernetes.io/numa"}]
    assert kept(*a_waiting("p", a_request(count=2), constraints=constraint)) == {"numa"}


def test_an_expression_that_looks_at_a_whole_map_keeps_all() -> None:
    whole = a_request("g", GPU, f'device.attributes["{GPU}"].size() == 2')
    assert kept(*a_waiting("p", whole)) == {"uuid", "numa"}


def test_values_that_end_every_evaluation_stay() -> None:
    odd = a_slice("c", [a_device("gpu-0", version={"version": "1.2"}, uuid="x")])
    snapshot = essential(Snapshot.build([a_node("c"), a_class(), odd], features=Features.v1_37()))
    (slice_,) = snapshot.tables.slices.values()
    assert set(slice_.devices[0].attributes) == {"version"}


def test_words_still_have_the_values_that_were_left_out() -> None:
    twin = a_slice("a", [a_device("same", uuid="b-0")], name="twin", pool="other", driver="fabric.example.com")
    assert [each.object for each in audited(*fleet(), twin).findings] == ["b-0"]
