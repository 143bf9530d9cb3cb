import pytest

from muster_audit.facts import Look
from muster_audit.memory import Memory
from muster_audit.selector_misses import SelectorMiss, closest, selector_miss
from muster_dra import Features, parse_slice
from muster_dra.selectors import environment_of
from support.cluster_objects import GPU, Json, a_device, a_slice

A, C = f'device.attributes["{GPU}"]', f'device.capacity["{GPU}"]'


def miss(expression: str, *devices: Json) -> SelectorMiss:
    slice_ = parse_slice(a_slice(devices=devices))
    looks = [Look(id_, each, (id_,)) for each in slice_.devices for id_ in (slice_.pool.device(each.name),)]
    return selector_miss(expression, looks, Memory(), environment_of(Features.v1_37()))


BOARDS = (a_device("a", model="x", numa=0, capacity={"memory": "81559Mi"}), a_device("b", model="y", numa=1))


def test_the_first_part_that_nothing_passes_is_the_reason() -> None:
    found = miss(f'{A}.model == "x" && {A}.numa == 1', *BOARDS)
    assert (found.part, found.devices, found.published) == (f"{A}.numa == 1", 1, ("0",))


@pytest.mark.parametrize(
    ("expression", "sentence"),
    [
        (f'{A}.model == "z"', '0 of 2 devices match model == "z"; published values: x, y'),
        (f'"modle" in {A}', f"the nearest name is {GPU}/model"),
        (f'{C}.memory.compareTo(quantity("80Gi")) >= 0', "a little less than 80Gi"),
        (f'{A}.model == "z" || {A}.numa == 7', "0 of 2 devices match"),
    ],
)
def test_what_is_published_instead_is_told(expression: str, sentence: str) -> None:
    assert sentence in miss(expression, *BOARDS).sentence()


def test_a_shape_by_name_is_about_topology() -> None:
    assert miss(f'{A}.topology == "4x4"', a_device("a", topology="2x2")).about_topology
    assert not miss(f'{A}.model == "z"', *BOARDS).about_topology


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("d/modle", "d/model"),
        ("d/MODEL", "d/model"),
        ("other/model", "d/model"),
        ("d/completely", ""),
        ("d/numaNode", "std/numaNode"),
    ],
)
def test_the_name_that_was_probably_meant(name: str, nearest: str) -> None:
    assert closest(name, ["d/model", "d/uuid", "std/numaNode"]) == nearest
