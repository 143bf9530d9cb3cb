"""Equal nodes share a key, for any claims or for given ones."""

from muster_dra import AllocatedState, Catalog, Node, node_class_key, parse_claim, parse_class, parse_slice
from muster_types import NodeName
from unit.muster_dra.problem_building import CLASSES, claim, device, exact, held, slice_of

NODES = [Node(NodeName(f"n{index}")) for index in range(3)]


def catalog(*, serials: bool = False) -> Catalog:
    slices = []
    for node in NODES:
        devices = [
            device(f"d{i}", attributes={"model": "h100"} | ({"uuid": f"{node.name}-{i}"} if serials else {}))
            for i in range(2)
        ]
        slices.append(slice_of(*devices, node=node.name, pool=node.name, name=f"s-{node.name}"))
    return Catalog.build(map(parse_slice, slices), map(parse_class, CLASSES))


def busy(*pairs: tuple[str, str]) -> AllocatedState:
    return AllocatedState.from_claims(parse_claim(held(device_, pool=pool)) for pool, device_ in pairs)


def test_nodes_of_one_make_and_use_share_a_key() -> None:
    known = catalog()
    keys = [node_class_key(node, known, busy(("n0", "d0"), ("n1", "d0"))) for node in NODES]
    assert keys[0] == keys[1] != keys[2]


def test_serial_numbers_tell_nodes_apart_unless_the_claims_do_not_look_at_them() -> None:
    known = catalog(serials=True)
    state = AllocatedState.empty()
    assert len({node_class_key(node, known, state) for node in NODES}) == 3
    indifferent = (parse_claim(claim(exact())),)
    assert len({node_class_key(node, known, state, indifferent) for node in NODES}) == 1
    looking = (parse_claim(claim(exact(cel='device.attributes["a.example.com"].uuid == "n1-0"'))),)
    assert len({node_class_key(node, known, state, looking) for node in NODES}) == 2


def test_a_node_that_can_do_nothing_is_like_every_other_such_node() -> None:
    known = catalog()
    asked = (parse_claim(claim(exact(count=2))),)
    keys = [node_class_key(node, known, busy(("n0", "d0"), ("n1", "d1")), asked) for node in NODES]
    assert keys[0] == keys[1] != keys[2]
