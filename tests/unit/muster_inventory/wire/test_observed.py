"""Problems of inputs as the watcher tells them, and as callers see them."""

import pytest

from muster.events.observed.v1 import observed_pb2 as pb
from muster_inventory.domain.seen import InputMended, InputRejected, Problem, ProblemId, Severity
from muster_inventory.wire.api import to_problem
from muster_inventory.wire.observed import from_observed

IDS = ("directory", "1a2b3c")
ID = ProblemId("directory/1a2b3c")
WRITTEN = {"source": "a.yaml:3", "object": "Node/x", "field": "spec.colour", "reason": "is not known"}


@pytest.mark.parametrize(
    ("number", "severity"),
    [
        (pb.SEVERITY_UNSPECIFIED, Severity.ERROR),  # written before there were warnings
        (pb.SEVERITY_ERROR, Severity.ERROR),
        (pb.SEVERITY_WARNING, Severity.WARNING),
        (99, Severity.ERROR),  # worse than a warning, for all we know
    ],
)
def test_a_rejected_input_is_an_error_unless_it_says_that_it_is_a_warning(
    number: pb.Severity.ValueType, severity: Severity
) -> None:
    fact = from_observed(pb.InputRejected(**WRITTEN, severity=number), IDS)
    assert fact == InputRejected(ID, Problem("a.yaml:3", "Node/x", "spec.colour", "is not known", severity))


def test_a_mended_input_is_known_by_the_place_where_it_was_told() -> None:
    assert from_observed(pb.InputMended(source="a.yaml:9", object="Node/x"), IDS) == InputMended(ID)


@pytest.mark.parametrize(
    ("severity", "number"), [(Severity.ERROR, pb.SEVERITY_ERROR), (Severity.WARNING, pb.SEVERITY_WARNING)]
)
def test_callers_see_how_bad_a_problem_is(severity: Severity, number: pb.Severity.ValueType) -> None:
    view = to_problem(Problem("a.yaml:3", "Node/x", "spec.colour", "is not known", severity))
    assert {field.name: value for field, value in view.ListFields()} == {**WRITTEN, "severity": number}
