from collections.abc import Mapping
from pathlib import Path

import pytest

from muster_cli.simulation.scheduler import SimulatedScheduler
from muster_kube import ClusterDirectory, object_key
from muster_kube.parts import at
from muster_types import ObjectKey

from .cluster import (
    GANG,
    NAMESPACE,
    Json,
    a_claim_template,
    a_class,
    a_node,
    a_pod,
    a_pod_template,
    a_request,
    a_slice,
)


class Cluster:
    """A cluster directory with a scheduler on it."""

    def __init__(self, path: Path, *objects: Mapping[str, object]) -> None:
        self.path = path
        self.directory = ClusterDirectory((), path / "cluster")
        for obj in objects:
            self.directory.put(obj)

    def schedule(self) -> None:
        """A new scheduler works until it finds nothing more to do."""
        scheduler = SimulatedScheduler((), self.path)
        for _ in range(50):
            if not scheduler.step():
                return
        raise AssertionError("the scheduler never comes to rest")

    def all(self, kind: str) -> dict[str, Json]:
        found = self.directory.list().objects
        return {key.name: dict(found[key].obj) for key in sorted(found) if key.kind == kind}

    def nodes_of_pods(self) -> dict[str, object]:
        return {name: at(pod, "spec", "nodeName") for name, pod in self.all("Pod").items()}


BASE = (a_class(), a_claim_template(), a_pod_template())


def a_cluster(path: Path, *more: Mapping[str, object], count: int = 4) -> Cluster:
    nodes = [obj for name in ("a", "b") for obj in (a_node(name), a_slice(name))]
    return Cluster(path, *BASE, *nodes, a_request(count), *more)


def test_pods_and_claims_of_an_offered_gang_are_created_and_bound_with_devices(tmp_path: Path) -> None:
    cluster = a_cluster(tmp_path)
    cluster.schedule()
    assert cluster.nodes_of_pods() == {
        "train-worker-0": "a",
        "train-worker-1": "a",
        "train-worker-2": "b",
        "train-worker-3": "b",
    }
    claims = cluster.all("ResourceClaim")
    assert list(claims) == [f"train-worker-{index}-gpus" for index in range(4)]
    taken = [
        (at(result, "pool"), at(result, "device"))
        for claim in claims.values()
        for result in at(claim, "status", "allocation", "devices", "results")
    ]
    assert len(taken) == len(set(taken)) == 8
    pod = cluster.all("Pod")["train-worker-0"]
    assert at(pod, "status", "resourceClaimStatuses") == [{"name": "gpus", "resourceClaimName": "train-worker-0-gpus"}]
    uid = at(pod, "metadata", "uid")
    assert at(claims["train-worker-0-gpus"], "status", "reservedFor") == [
        {"resource": "pods", "name": "train-worker-0", "uid": uid}
    ]
    assert at(pod, "metadata", "annotations", "autoscaling.x-k8s.io/consume-provisioning-request") == "train"


def test_what_is_written_passes_as_kubernetes_objects(tmp_path: Path) -> None:
    cluster = a_cluster(tmp_path)
    cluster.schedule()
    assert cluster.directory.list().rejected == ()


def test_pods_tolerate_the_reservation_of_their_gang_and_use_its_nodes_first(tmp_path: Path) -> None:
    cluster = a_cluster(tmp_path, a_node("new", taint=GANG), a_slice("new"), count=3)
    cluster.schedule()
    assert list(cluster.nodes_of_pods().values()) == ["new", "new", "a"]


@pytest.mark.parametrize(
    "request_", [a_request(provisioned=False), *(a_request(ended=e) for e in ("Failed", "BookingExpired"))]
)
def test_nothing_happens_before_the_offer_and_after_its_end(tmp_path: Path, request_: Json) -> None:
    cluster = Cluster(tmp_path, *BASE, a_node("a"), a_slice("a"), request_)
    cluster.schedule()
    assert cluster.all("Pod") == {}


def test_pods_that_somebody_else_made_are_bound_and_none_are_added(tmp_path: Path) -> None:
    cluster = a_cluster(tmp_path, a_pod("mine", consumes="train"), a_pod("stranger"))
    cluster.schedule()
    assert cluster.nodes_of_pods() == {"mine": "a", "stranger": None}


def test_a_pod_that_fits_nowhere_is_told_why_and_bound_once_it_fits(tmp_path: Path) -> None:
    cluster = a_cluster(tmp_path, count=5)
    cluster.schedule()
    last = cluster.all("Pod")["train-worker-4"]
    assert at(last, "spec", "nodeName") is None
    assert at(last, "status", "conditions") == [
        {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": "0/2 nodes are available: 2 cannot allocate all claims.",
        }
    ]
    cluster.directory.put(a_node("c"))
    cluster.directory.put(a_slice("c"))
    cluster.schedule()
    assert cluster.nodes_of_pods()["train-worker-4"] == "c"


def test_a_crash_between_any_two_writes_is_followed_by_the_missing_ones(tmp_path: Path) -> None:
    """Each new scheduler may write a little more than the one before, then it ends."""
    whole = a_cluster(tmp_path / "whole")
    whole.schedule()
    for allowed in range(1, 40):
        cluster = a_cluster(tmp_path / str(allowed))
        scheduler = SimulatedScheduler((), cluster.path)
        writes = Limited(scheduler, allowed)
        try:
            while scheduler.step():
                pass
        except Ended:
            cluster.schedule()
        assert cluster.nodes_of_pods() == whole.nodes_of_pods()
        assert list(cluster.all("ResourceClaim")) == list(whole.all("ResourceClaim"))
        if not writes.ended:
            return
    raise AssertionError("the scheduler never came to its end")


class Ended(BaseException):
    """The process ends here."""


class Limited:
    """Lets a scheduler write so often, then ends it, as a file system that a crash leaves behind would look."""

    def __init__(self, scheduler: SimulatedScheduler, allowed: int) -> None:
        self._allowed = allowed
        self.ended = False
        directory = scheduler.directory
        put, patch = directory.put, directory.patch_status

        def limited_put(obj: Mapping[str, object], *, expected_version: str | None = None) -> object:
            self._count()
            return put(obj, expected_version=expected_version)

        def limited_patch(key: ObjectKey, status: Mapping[str, object]) -> object:
            self._count()
            return patch(key, status)

        directory.put = limited_put  # pyright: ignore[reportAttributeAccessIssue] -- a fault, not a fake
        directory.patch_status = limited_patch  # pyright: ignore[reportAttributeAccessIssue] -- a fault, not a fake

    def _count(self) -> None:
        if self._allowed == 0:
            self.ended = True
            raise Ended
        self._allowed -= 1


def test_a_claim_that_the_group_has_is_shared_by_its_pods(tmp_path: Path) -> None:
    entry = {"name": "gpus", "resourceClaimTemplateName": "two-gpus"}
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "band", "namespace": NAMESPACE},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}, "resourceClaims": [entry]},
    }
    template = a_pod_template(spec={"schedulingGroup": {"podGroupName": "band"}})
    nodes = [obj for name in ("a", "b") for obj in (a_node(name), a_slice(name))]
    cluster = Cluster(tmp_path, a_class(), a_claim_template(), template, group, *nodes, a_request(3))
    cluster.schedule()
    claims = cluster.all("ResourceClaim")
    assert list(claims) == ["band-gpus"]
    assert len(at(claims["band-gpus"], "status", "reservedFor")) == 3
    assert set(cluster.nodes_of_pods().values()) == {"a"}


def test_a_named_claim_pins_all_its_pods_to_one_node(tmp_path: Path) -> None:
    template_spec = a_claim_template()["spec"]
    named = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "shared", "namespace": NAMESPACE},
        "spec": at(template_spec, "spec"),
    }
    template = a_pod_template(claims=[{"name": "gpus", "resourceClaimName": "shared"}], requests={"cpu": "12"})
    nodes = [obj for name in ("a", "b") for obj in (a_node(name), a_slice(name))]
    cluster = Cluster(tmp_path, a_class(), template, *nodes, a_request(3))
    cluster.schedule()
    assert cluster.nodes_of_pods() == {"train-worker-0": None, "train-worker-1": None, "train-worker-2": None}
    message = at(cluster.all("Pod")["train-worker-0"], "status", "conditions")
    assert "waiting for resource claim shared" in str(message)
    cluster.directory.put(named)
    cluster.schedule()
    assert list(cluster.nodes_of_pods().values()) == ["a", "a", None]


def test_pods_without_a_node_go_with_their_request(tmp_path: Path) -> None:
    cluster = a_cluster(tmp_path, count=5)
    cluster.schedule()
    cluster.directory.delete(object_key(a_request()))
    cluster.schedule()
    assert sorted(cluster.nodes_of_pods()) == [f"train-worker-{index}" for index in range(4)]
    assert len(cluster.all("ResourceClaim")) == 4


def test_an_extended_resource_is_bound_through_a_claim_of_its_own(tmp_path: Path) -> None:
    template = a_pod_template(claims=(), requests={"cpu": "1", "example.com/gpu": "3"})
    cluster = Cluster(tmp_path, a_class(), template, a_node("a"), a_slice("a"), a_request(1))
    cluster.schedule()
    assert cluster.nodes_of_pods() == {"train-worker-0": "a"}
    claim = cluster.all("ResourceClaim")["train-worker-0-extended-resources"]
    assert len(at(claim, "status", "allocation", "devices", "results")) == 3
    status = at(cluster.all("Pod")["train-worker-0"], "status", "extendedResourceClaimStatus")
    assert at(status, "requestMappings") == [
        {"containerName": "main", "resourceName": "example.com/gpu", "requestName": "container-0-request-1"}
    ]
    assert cluster.directory.list().rejected == ()
