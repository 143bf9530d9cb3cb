from support.audits import row_of
from support.cluster_objects import a_class, a_device, a_node, a_running, a_slice, an_object, gpus

EVICT = {"key": "sick", "effect": "NoExecute"}
FLEET = [a_node(), a_class()]


def test_a_running_pod_with_published_devices_is_placed() -> None:
    row = row_of("r", *FLEET, a_slice(devices=gpus(1)), *a_running("r", "gpu-0"))
    assert (row.verdict, row.node, row.devices) == ("placed", "node-a", ("gpu.example.com/node-a/gpu-0",))


def test_a_taint_of_its_device_drives_a_pod_out_unless_its_claim_tolerates_it() -> None:
    sick = a_slice(devices=[a_device("gpu-0", taints=[EVICT])])
    affected = row_of("r", *FLEET, sick, *a_running("r", "gpu-0"))
    assert (affected.verdict, "through claim r" in affected.why) == ("affected", True)
    running = a_running("r", "gpu-0")
    results = running[0]["status"]["allocation"]["devices"]["results"]  # pyright: ignore[reportIndexIssue] -- a map
    results[0]["tolerations"] = [{"key": "sick", "operator": "Exists", "effect": "NoExecute"}]
    assert row_of("r", *FLEET, sick, *running).verdict == "placed"


def test_a_rule_that_evicts_counts_as_a_taint_and_a_rule_that_does_not_evict_does_not() -> None:
    def rule(effect: str) -> dict[str, object]:
        spec = {"deviceSelector": {"driver": "gpu.example.com"}, "taint": {"key": "x", "effect": effect}}
        return an_object("resource.k8s.io/v1", "DeviceTaintRule", "rule", spec=spec)

    running = [a_slice(devices=gpus(1)), *a_running("r", "gpu-0")]
    assert row_of("r", *FLEET, *running, rule("NoExecute")).verdict == "affected"
    assert row_of("r", *FLEET, *running, rule("NoSchedule")).verdict == "placed"


def test_a_pod_keeps_a_device_that_is_published_no_more() -> None:
    row = row_of("r", *FLEET, *a_running("r", "gpu-9"), a_slice(devices=gpus(1)))
    assert (row.verdict, row.node) == ("keeps-allocation", "node-a")


def test_an_outage_of_its_node_is_told_and_changes_nothing() -> None:
    pods = [a_class(), a_slice(devices=gpus(1)), *a_running("r", "gpu-0")]
    down = row_of("r", a_node(ready=False), *pods)
    back = row_of("r", a_node(ready=False), *pods, then=[[a_node(), *pods]])
    assert (down.verdict, back.verdict) == ("placed", "placed")
    assert "the node is not ready" in down.why
    assert "not ready for a while" in back.why
