import pytest

from muster_dra import InvalidObject
from muster_plan import solve_plan_problem
from unit.muster_plan.builders import node, pod_template, provisioning_request


def row(**more: object) -> dict[str, object]:
    body, *slices = node("node-0")
    return {
        "id": "p-1",
        "nodes": [body],
        "slices": slices,
        "podTemplates": [pod_template("worker")],
        "request": provisioning_request(("worker", 2)),
        **more,
    }


def test_a_feasible_row_gets_cost_new_nodes_and_placements() -> None:
    assert solve_plan_problem(row()) == {
        "id": "p-1",
        "feasible": True,
        "cost": 0,
        "newNodes": 0,
        "placements": [{"podSet": "worker", "index": index, "node": "node-0", "claims": []} for index in range(2)],
    }


def test_an_infeasible_row_says_never_and_why() -> None:
    answer = solve_plan_problem(row(nodes=[]))
    assert (answer["feasible"], answer["never"], answer["evenEmpty"]) == (False, True, True)
    assert answer["reasons"] == ["pod set worker: there is no node and no node group"]


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"request": None}, "request: want a ProvisioningRequest"),
        ({"nodes": 7}, "nodes: want a list of objects"),
        ({"nodes": ["x"]}, "nodes: want a list of objects"),
        (
            {"nodes": [{"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "x"}}}]},
            "Node/n: status.allocatable.cpu",
        ),
        ({"podTemplates": []}, "PodTemplate/team/worker does not exist"),
    ],
)
def test_a_row_that_is_no_problem_names_object_field_and_reason(more: dict[str, object], text: str) -> None:
    with pytest.raises(InvalidObject, match=text.replace(".", r"\.")):
        solve_plan_problem(row(**more))


def test_a_line_that_is_no_object_is_refused() -> None:
    with pytest.raises(InvalidObject):
        solve_plan_problem(["not", "a", "row"])
