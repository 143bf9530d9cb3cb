"""What is left out of a fact, and that equal facts are equal bytes."""

from muster_kube import trimmed, trimmed_json
from unit.muster_kube.builders import Json, a_node, a_pod


def _node(version: str, heartbeat: str, ready: str = "True") -> Json:
    metadata = {
        "name": "n1",
        "resourceVersion": version,
        "managedFields": [{"manager": "kubelet"}],
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "kept": "yes"},
    }
    conditions = [{"type": "Ready", "status": ready, "lastHeartbeatTime": heartbeat, "lastTransitionTime": "t"}]
    return a_node(metadata=metadata, status={"conditions": conditions, "images": [{"names": ["x"]}]})


def test_a_heartbeat_changes_no_byte_and_a_condition_does() -> None:
    assert trimmed_json(_node("1", "10:00")) == trimmed_json(_node("2", "10:05"))
    assert trimmed_json(_node("1", "10:00")) != trimmed_json(_node("1", "10:00", ready="False"))


def test_what_means_something_stays() -> None:
    assert trimmed(_node("1", "10:00")) == a_node(
        metadata={"name": "n1", "annotations": {"kept": "yes"}},
        status={"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "t"}]},
    )


def test_a_restarting_container_is_no_news() -> None:
    def pod(restarts: int) -> Json:
        status = {"phase": "Running", "containerStatuses": [{"name": "main", "restartCount": restarts, "ready": True}]}
        return {**a_pod(), "status": status}

    assert trimmed_json(pod(1)) == trimmed_json(pod(2))
    assert trimmed(pod(1))["status"] == {"phase": "Running", "containerStatuses": [{"name": "main"}]}


def test_the_order_of_keys_is_no_news_and_the_object_is_left_alone() -> None:
    obj = _node("1", "10:00")
    assert trimmed_json(dict(reversed(obj.items()))) == trimmed_json(obj)
    assert obj == _node("1", "10:00")
