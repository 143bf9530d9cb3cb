import pytest

from muster_audit import Cluster, Dump
from muster_audit.quotas import Quotas, devices_charged
from muster_dra import ClaimSpec, parse_claim
from support.cluster_objects import GPU, Json, a_claim, a_node, a_quota, a_request

DEVICES, CLAIMS = f"{GPU}.deviceclass.resource.k8s.io/devices", "count/resourceclaims.resource.k8s.io"


def spec(*requests: Json) -> ClaimSpec:
    return parse_claim(a_claim("c", *requests)).spec


def allowed(hard: dict[str, str], *objects: Json, pods: int = 5, used: dict[str, str] | None = None) -> int:
    quota = a_quota("q", hard, used=used)
    cluster = Cluster.from_dumps([Dump((a_node(), quota, *objects))])
    return Quotas(cluster).allowed("team-a", [spec(a_request(count=2))], pods)[0]


@pytest.mark.parametrize(
    ("hard", "used", "pods"),
    [
        ({DEVICES: "4"}, None, 2),
        ({DEVICES: "4"}, {DEVICES: "3"}, 0),
        ({CLAIMS: "3"}, None, 3),
        ({DEVICES: "100", "pods": "1"}, None, 5),
        ({DEVICES: "many"}, None, 5),
    ],
)
def test_how_many_pods_may_have_their_claims_made(hard: dict[str, str], used: dict[str, str] | None, pods: int) -> None:
    assert allowed(hard, used=used) == pods


def test_without_a_status_existing_claims_are_counted() -> None:
    assert allowed({DEVICES: "4"}, a_claim("old", a_request(count=3))) == 0


def test_quotas_are_of_one_namespace() -> None:
    cluster = Cluster.from_dumps([Dump((a_quota("q", {DEVICES: "0"}, namespace="team-b"),))])
    assert Quotas(cluster).allowed("team-a", [spec(a_request())], 3) == (3, None)


def test_all_is_charged_as_the_most_and_alternatives_by_the_largest_of_each_class() -> None:
    either = {
        "name": "r",
        "firstAvailable": [
            {"name": "a", "deviceClassName": GPU, "count": 4},
            {"name": "b", "deviceClassName": GPU, "count": 2},
            {"name": "c", "deviceClassName": "other", "count": 1},
        ],
    }
    assert devices_charged(spec(either)) == {GPU: 4, "other": 1}
    assert devices_charged(spec(a_request(allocationMode="All"))) == {GPU: 32}
