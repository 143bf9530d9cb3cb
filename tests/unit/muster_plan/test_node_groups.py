"""Which nodes a group has (architecture §8)."""

import pytest

from muster_plan import NodeGroup, parse_node_group

LABELS = {"pool": "h100", "rack": "r1"}


def a_group(**spec: object) -> NodeGroup:
    return parse_node_group(
        {
            "apiVersion": "muster.dev/v1alpha1",
            "kind": "NodeGroup",
            "metadata": {"name": "g"},
            "spec": {"maxSize": 4, "template": {"metadata": {"labels": LABELS}}, **spec},
        }
    )


@pytest.mark.parametrize(
    ("spec", "labels", "has"),
    [
        ({"selector": {"matchLabels": {"pool": "h100"}}}, {"pool": "h100"}, True),
        ({"selector": {"matchLabels": {"pool": "h100"}}}, LABELS | {"pool": "a100"}, False),
        ({}, LABELS | {"zone": "a"}, True),
        ({}, {"pool": "h100"}, False),
        ({"domainLabel": "rack", "atomicUnit": 2}, {"pool": "h100", "rack": "r7"}, True),
        ({"domainLabel": "rack", "atomicUnit": 2}, {"pool": "a100", "rack": "r1"}, False),
        ({"template": {"metadata": {}}}, LABELS, False),
    ],
)
def test_the_selector_decides_and_without_one_the_labels_of_the_template(
    spec: dict[str, object], labels: dict[str, str], has: bool
) -> None:
    assert a_group(**spec).has(labels) is has
