from muster_provisioner.adapters.served_cloud.kept import merged_node

NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
RESERVED = {"key": "muster.dev/gang", "value": "g", "effect": "NoSchedule"}
OWN = {"key": "accelerator", "value": "h100", "effect": "NoSchedule"}


def test_a_report_changes_the_status_and_the_mark_of_not_being_ready() -> None:
    held = {
        "metadata": {"name": "n", "resourceVersion": "7", "labels": {"a": "1"}},
        "spec": {"providerID": "p", "unschedulable": True, "taints": [OWN, NOT_READY, RESERVED]},
        "status": {"conditions": []},
    }
    reported = {"metadata": {"name": "n"}, "spec": {"taints": [OWN]}, "status": {"conditions": [{"type": "Ready"}]}}
    assert merged_node(held, reported) == {
        "metadata": held["metadata"],
        "spec": {"providerID": "p", "unschedulable": True, "taints": [OWN, RESERVED]},
        "status": {"conditions": [{"type": "Ready"}]},
    }


def test_a_taint_that_somebody_took_away_does_not_come_back() -> None:
    held = {"spec": {"taints": []}}
    reported = {"spec": {"taints": [OWN, RESERVED, NOT_READY]}, "status": {}}
    assert merged_node(held, reported)["spec"] == {"taints": [NOT_READY]}
