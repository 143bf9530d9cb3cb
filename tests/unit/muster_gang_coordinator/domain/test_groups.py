"""Requests that stand for PodGroups, told from requests of the cluster whatever those are called."""

import pytest

from muster_gang_coordinator.domain.groups import attempt_of, group_of_request
from muster_types import ObjectKey

UID = "5f0c8e0e-5d8b-4a52-9d3c-0a4f6c1b2d3e"


@pytest.mark.parametrize("name", ["train", "train.v2", "x.podgroup"])
def test_the_request_of_a_group_leads_back_to_it(name: str) -> None:
    group = ObjectKey("PodGroup", "ml", name)
    attempt = attempt_of(group, UID, 2, ["a", "b"])
    assert group_of_request(attempt.request, attempt.uid) == group


@pytest.mark.parametrize("name", ["train", "train.podgroup", "podgroup", "train-podgroup"])
def test_a_request_of_the_cluster_stands_for_no_group_whatever_its_name(name: str) -> None:
    assert group_of_request(ObjectKey("ProvisioningRequest", "ml", name), UID) is None
