import pytest

from muster_audit.packing import Share, nodes_together
from muster_audit.pod_classes import gang_of
from muster_audit.survey import wanted
from muster_plan import InvalidGang
from muster_types import NodeGroupName
from support.audits import scene_of
from support.cluster_objects import Json, a_class, a_group, a_request, a_waiting, gpus


def packed(counts: list[int], **group: object) -> int:
    """Nodes of eight devices for pods that want so many each, every pod a class of its own."""
    waiting = [a_waiting(f"p{at}", a_request(count=count), cpu=f"{at + 1}") for at, count in enumerate(counts)]
    pods = [each for pod in waiting for each in pod]
    made: Json = a_group("g", gpus(8), most=99, **group)  # pyright: ignore[reportArgumentType] -- fields of the group
    scene, classes = scene_of(a_class(), *pods, made)
    shares: list[Share] = []
    for each in classes:
        gang = gang_of("p", each.namespace, "p", {each.template: 1}, scene.snapshot)
        assert not isinstance(gang, InvalidGang)
        pod = wanted(gang, scene.snapshot, scene.specs, affinities=False)
        shares.append(Share(pod, len(each.members), len(each.members)))
    return nodes_together(shares, scene.potentials.by_group[NodeGroupName("g")], scene.potentials)


@pytest.mark.parametrize(
    ("counts", "nodes"), [([4, 4], 1), ([5, 4], 2), ([4, 3, 1], 1), ([8, 8, 8], 3), ([6, 6, 2, 2], 2)]
)
def test_what_one_class_leaves_of_a_node_serves_the_next(counts: list[int], nodes: int) -> None:
    assert packed(counts) == nodes


def test_nodes_come_in_whole_units() -> None:
    assert packed([8, 8, 8], atomicUnit=2) == 3  # never more than asked for one by one
    assert packed([4, 4, 4], atomicUnit=2) == 2
