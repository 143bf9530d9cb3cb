from support.audits import row_of
from support.cluster_objects import Json, a_claim, a_class, a_device, a_node, a_pod, a_request, a_running, a_slice, gpus

FLEET = [a_node(), a_class(), a_slice(devices=gpus(2))]


def daemon(**metadata: object) -> list[Json]:
    pod = a_pod("d", "d", node="node-a")
    pod["metadata"] = {**pod["metadata"], **metadata}  # pyright: ignore[reportGeneralTypeIssues] -- a map
    claim = a_claim("d", held=["channel"], by="d", driver="chan.example.com")
    return [a_slice(devices=[a_device("channel")], driver="chan.example.com"), claim, pod]


def test_a_node_with_work_says_how_much_is_in_use() -> None:
    row = row_of("node-a", *FLEET, *a_running("r", "gpu-0"))
    assert (row.verdict, row.why) == ("usage", "gpu.example.com 1 of 2 in use")


def test_pods_that_come_with_a_node_leave_it_idle() -> None:
    owned = daemon(ownerReferences=[{"kind": "DaemonSet", "name": "x"}])
    row = row_of("node-a", *FLEET, *owned)
    assert row.verdict == "idle"
    assert "chan.example.com 1 of 1 held by a daemon pod" in row.why
    static = daemon(annotations={"kubernetes.io/config.mirror": "x"})
    assert row_of("node-a", *FLEET, *static).verdict == "idle"
    assert row_of("node-a", *FLEET, *daemon()).verdict == "usage"


def test_admin_access_is_no_use_of_a_device() -> None:
    watch = a_claim("w", a_request(adminAccess=True), held=["gpu-0"], by="w", adminAccess=True)
    row = row_of("node-a", *FLEET, watch, a_pod("w", "w", node="node-a"))
    assert row.why == "gpu.example.com 0 of 2 in use"
