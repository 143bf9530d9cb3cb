"""Paths of resources and objects."""

from muster_kubeapi import Resource, Target

NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
SLICES = Resource("resource.k8s.io", "v1", "resourceslices", "ResourceSlice", namespaced=False)
REQUESTS = Resource("autoscaling.x-k8s.io", "v1", "provisioningrequests", "ProvisioningRequest", namespaced=True)


def test_lists_span_all_namespaces() -> None:
    assert NODES.path == "/api/v1/nodes"
    assert SLICES.path == "/apis/resource.k8s.io/v1/resourceslices"
    assert REQUESTS.path == "/apis/autoscaling.x-k8s.io/v1/provisioningrequests"


def test_objects_stand_below_their_namespace() -> None:
    assert Target(NODES, "", "n1").path == "/api/v1/nodes/n1"
    path = "/apis/autoscaling.x-k8s.io/v1/namespaces/ml/provisioningrequests/train/status"
    assert Target(REQUESTS, "ml", "train", "status").path == path


def test_names_cannot_leave_their_place_in_the_path() -> None:
    assert Target(NODES, "", "../pods").path == "/api/v1/nodes/..%2Fpods"


def test_resources_are_named_as_kubectl_names_them() -> None:
    assert str(NODES) == "nodes"
    assert str(SLICES) == "resourceslices.v1.resource.k8s.io"
    assert (NODES.api_version, SLICES.api_version) == ("v1", "resource.k8s.io/v1")
