"""Served API versions, and durations of flags."""

from fractions import Fraction

import pytest

from muster_evaluate import hours_of, served_versions
from support.cluster_objects import a_claim, an_object


def test_versions_are_proven_by_lists_of_the_server_before_objects() -> None:
    service = an_object(
        "apiregistration.k8s.io/v1",
        "APIService",
        "v1.resource.k8s.io",
        spec={"group": "resource.k8s.io", "version": "v1"},
    )
    down = an_object(
        "apiregistration.k8s.io/v1",
        "APIService",
        "v1beta1.scheduling.k8s.io",
        spec={"group": "scheduling.k8s.io", "version": "v1beta1"},
        status={"conditions": [{"type": "Available", "status": "False"}]},
    )
    definition = an_object(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        "nodepools.karpenter.sh",
        spec={
            "group": "karpenter.sh",
            "versions": [{"name": "v1", "served": True}, {"name": "v1beta1", "served": False}],
        },
    )
    found = served_versions([a_claim("c"), service, down, definition])
    assert [(each.group, each.version, each.read_from) for each in found] == [
        ("karpenter.sh", "v1", "CustomResourceDefinition/nodepools.karpenter.sh spec.versions[0]"),
        ("resource.k8s.io", "v1", "APIService/v1.resource.k8s.io spec"),
    ]
    assert [each.read_from for each in served_versions([a_claim("c")])] == ["ResourceClaim/c apiVersion"]


@pytest.mark.parametrize(
    ("written", "hours"),
    [("10m", Fraction(1, 6)), ("1h30m0s", Fraction(3, 2)), ("90s", Fraction(1, 40)), ("ten", None), ("", None)],
)
def test_durations_are_read_as_go_writes_them(written: str, hours: Fraction | None) -> None:
    assert hours_of(written) == hours
