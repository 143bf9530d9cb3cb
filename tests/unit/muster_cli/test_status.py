"""What `muster status` says about inputs."""

from muster.api.inventory.v1.inventory_service_pb2 import ProblemView
from muster.events.observed.v1.observed_pb2 import SEVERITY_ERROR, SEVERITY_UNSPECIFIED, SEVERITY_WARNING
from muster_cli.commands.status import problem_facts


def test_refused_inputs_and_warnings_are_counted_apart() -> None:
    problems = [
        ProblemView(source="a.yaml:1", reason="malformed YAML", severity=SEVERITY_ERROR),
        ProblemView(
            source="b.yaml:2", object="Node/b", field="spec", reason="is required", severity=SEVERITY_UNSPECIFIED
        ),
        ProblemView(source="b.yaml:2", object="Node/b", field="status", reason="want a map", severity=SEVERITY_ERROR),
        ProblemView(source="c.yaml:3", field="spec.colour", reason="is not known", severity=SEVERITY_WARNING),
    ]
    assert problem_facts(problems) == {
        "refused inputs": "2, the first: a.yaml:1: malformed YAML",
        "inputs with warnings": "1, the first: c.yaml:3: spec.colour: is not known",
    }


def test_nothing_is_said_where_nothing_is_wrong() -> None:
    assert problem_facts([]) == {}
