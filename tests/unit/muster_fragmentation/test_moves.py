"""The fewest moves that make room."""

from muster_fragmentation import NoRoom, Room, Shape, make_room, observed_shapes
from muster_plan import Snapshot
from unit.muster_fragmentation.fleets import a_node, a_template, a_view, held


def shape(snapshot: Snapshot, name: str) -> Shape:
    return next(each for each in observed_shapes(snapshot) if each.name == name)


def test_nothing_moves_where_the_claim_fits() -> None:
    view = a_view(a_node("n1"), a_template("eight", 8))
    (room,) = rooms(view, "ml/eight")
    assert (room.node, room.moves, len(room.devices)) == ("n1", (), 8)


def test_one_small_claim_moves_and_names_its_pods() -> None:
    view = a_view(
        a_node("n1"), a_node("n2"), a_template("eight", 8), held("a", "n1", 0, pods=["p"]), held("b", "n2", 0, 1)
    )
    (room,) = rooms(view, "ml/eight")
    (move,) = room.moves
    assert (room.node, move.claim, move.source, move.target, move.consumers) == ("n1", "ml/a", "n1", "n2", ("ml/p",))
    assert [device.device for device in move.devices] == ["gpu-2"]


def test_a_gang_gets_room_member_by_member_and_no_claim_moves_twice() -> None:
    nodes = [a_node(f"n{number}") for number in range(3)]
    view = a_view(*nodes, a_template("eight", 8), held("a", "n0", 0), held("b", "n1", 0), held("c", "n2", 0))
    found = rooms(view, "ml/eight", 2)
    moved = [move.claim for room in found for move in room.moves]
    assert ([room.node for room in found], moved) == (["n0", "n2"], ["ml/a", "ml/c"])
    assert {move.target for room in found for move in room.moves} == {"n1"}


def test_no_room_says_how_far_it_came() -> None:
    view = a_view(a_node("n1"), a_template("eight", 8), held("a", "n1", 0))
    answer = make_room(view, shape(view, "ml/eight"))
    assert isinstance(answer, NoRoom)
    assert (answer.found, "ml/eight" in answer.why) == ((), True)


def test_devices_outside_any_node_and_admin_access_are_left_where_they_are() -> None:
    claim = held("a", "n1", 0)
    claim["status"]["allocation"]["devices"]["results"][0]["adminAccess"] = True
    view = a_view(a_node("n1"), a_node("n2"), a_template("eight", 8), claim, held("b", "gone", 1))
    (room,) = rooms(view, "ml/eight")
    assert room.moves == ()


def rooms(view: Snapshot, name: str, members: int = 1) -> tuple[Room, ...]:
    answer = make_room(view, shape(view, name), members)
    assert not isinstance(answer, NoRoom), answer.why
    return answer
