from muster_audit import Dump
from muster_audit.frames import frames_of
from muster_audit.groups import learned_groups, says_nothing
from muster_dra import Features
from muster_plan import Snapshot
from support.cluster_objects import Json, a_class, a_group, a_node, a_slice, gpus


def learned(*objects: Json) -> dict[str, tuple[str, bool, int]]:
    """By group: the node it is learned from, whether there is a template to learn, how many promises are broken."""
    frame = frames_of([Dump(objects)])[-1]
    found = learned_groups(Snapshot.build(objects, features=Features.v1_37()), frame)
    return {name: (each.node, each.obj is not None, len(each.broken)) for name, each in found.items()}


NODE = a_node("n", labels={"group": "g"})


def test_a_group_without_a_template_is_learned_from_its_first_node_that_publishes() -> None:
    assert learned(NODE, a_class(), a_slice("n", gpus(2)), a_group("g")) == {"g": ("n", True, 0)}
    assert learned(NODE, a_class(), a_group("g")) == {"g": ("n", False, 0)}
    assert learned(a_class(), a_group("g")) == {}


def test_a_template_that_its_nodes_keep_is_believed() -> None:
    assert learned(NODE, a_class(), a_slice("n", gpus(2)), a_group("g", gpus(2))) == {}


def test_a_template_that_no_node_keeps_is_replaced_by_what_they_show() -> None:
    assert learned(NODE, a_class(), a_slice("n", gpus(1)), a_group("g", gpus(2))) == {"g": ("n", True, 1)}


def test_a_node_whose_pools_are_still_to_come_says_nothing() -> None:
    assert learned(NODE, a_class(), a_group("g", gpus(2))) == {}


def test_nodes_belong_by_selector_or_by_the_labels_of_the_template() -> None:
    selected = a_group("s", gpus(1), selector={"matchLabels": {"rack": "r1"}})
    snapshot = Snapshot.build([NODE, a_node("m", labels={"rack": "r1"}), a_group("g"), selected])
    nodes = {node.name: node for node in snapshot.tables.nodes.values()}
    groups = {group.name: group for group in snapshot.tables.groups.values()}
    owners = {name: [group for group, each in groups.items() if each.has(node.labels)] for name, node in nodes.items()}
    assert owners == {"n": ["g"], "m": ["s"]}
    assert (says_nothing(groups["g"]), says_nothing(groups["s"])) == (True, False)
