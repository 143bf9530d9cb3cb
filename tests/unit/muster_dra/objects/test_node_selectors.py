"""Node selectors: terms, requirements, and what cannot be evaluated (dra-semantics §1.1)."""

import pytest

from muster_dra import InvalidSelector, Node, NodeSelector, NodeSelectorTerm, Requirement
from muster_types import NodeName

NODE = Node(NodeName("n1"), {"zone": "a", "rack": "7", "empty": ""})


def one(*expressions: Requirement, fields: tuple[Requirement, ...] = ()) -> NodeSelector:
    return NodeSelector((NodeSelectorTerm(expressions, fields),))


@pytest.mark.parametrize(
    ("requirement", "matches"),
    [
        (Requirement("zone", "In", ("a", "b")), True),
        (Requirement("zone", "In", ("b",)), False),
        (Requirement("absent", "In", ("a",)), False),
        (Requirement("zone", "NotIn", ("a",)), False),
        (Requirement("absent", "NotIn", ("a",)), True),
        (Requirement("zone", "Exists"), True),
        (Requirement("empty", "Exists"), True),
        (Requirement("absent", "Exists"), False),
        (Requirement("absent", "DoesNotExist"), True),
        (Requirement("rack", "Gt", ("6",)), True),
        (Requirement("rack", "Gt", ("7",)), False),
        (Requirement("rack", "Lt", ("10",)), True),
        (Requirement("zone", "Gt", ("1",)), False),
        (Requirement("absent", "Lt", ("1",)), False),
    ],
)
def test_each_operator_means_what_kubernetes_means(requirement: Requirement, matches: bool) -> None:
    assert one(requirement).matches(NODE) is matches


def test_terms_are_alternatives_and_requirements_of_a_term_add_up() -> None:
    zone, rack = Requirement("zone", "In", ("a",)), Requirement("rack", "In", ("8",))
    assert one(zone, rack).matches(NODE) is False
    assert NodeSelector((NodeSelectorTerm((rack,)), NodeSelectorTerm((zone,)))).matches(NODE) is True


def test_nothing_matches_an_empty_selector_or_an_empty_term() -> None:
    assert NodeSelector().matches(NODE) is False
    assert one().matches(NODE) is False


def test_fields_know_the_name_only() -> None:
    assert NodeSelector.only("n1").matches(NODE) is True
    assert one(fields=(Requirement("metadata.name", "NotIn", ("n1",)),)).matches(NODE) is False


@pytest.mark.parametrize(
    "selector",
    [
        one(Requirement("zone", "In")),
        one(Requirement("zone", "Exists", ("a",))),
        one(Requirement("rack", "Gt", ("x",))),
        one(Requirement("rack", "Gt", ("1", "2"))),
        one(Requirement("zone", "Near", ("a",))),
        one(fields=(Requirement("metadata.name", "In", ("a", "b")),)),
        one(fields=(Requirement("metadata.uid", "In", ("a",)),)),
        one(fields=(Requirement("metadata.name", "Exists"),)),
    ],
)
def test_what_kubernetes_cannot_parse_is_a_value_with_its_reason(selector: NodeSelector) -> None:
    found = selector.matches(NODE)
    assert isinstance(found, InvalidSelector)
    assert "nodeSelectorTerms[0]" in found.reason


def test_one_bad_term_spoils_the_others() -> None:
    good, bad = NodeSelectorTerm((Requirement("zone", "In", ("a",)),)), NodeSelectorTerm((Requirement("zone", "In"),))
    assert isinstance(NodeSelector((good, bad)).matches(NODE), InvalidSelector)
