import pytest

from support.audits import row_of
from support.cluster_objects import Json, a_node, a_pod

SMALL, LARGE = a_node("a", cpu="4"), a_node("b", cpu="8")


@pytest.mark.parametrize(
    ("objects", "cpu", "remedy"),
    [
        ([SMALL, LARGE], "9", "ask for at most 8 cpu, or add nodes that have more"),
        (
            [SMALL, LARGE, a_pod("r", node="b", cpu="3")],
            "8",
            "move pod team-a/r from b to a, then b takes the pod",
        ),
        ([LARGE, a_pod("r", node="b", cpu="3")], "8", ""),
        ([SMALL, LARGE, a_pod("r", node="b", cpu="3", priority=9)], "8", ""),
        ([SMALL, LARGE, a_pod("r", node="b", cpu="3", nodeSelector={"x": "y"})], "8", ""),
    ],
)
def test_what_makes_room(objects: list[Json], cpu: str, remedy: str) -> None:
    assert row_of("p", *objects, a_pod("p", cpu=cpu)).remedy == remedy
