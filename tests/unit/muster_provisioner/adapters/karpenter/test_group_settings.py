import pytest

from muster_provisioner.adapters.karpenter.group_settings import KarpenterGroup, read_karpenter_group

NODE_CLASS = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "gpu"}
PINNED = {"instanceType": "p5.48xlarge", "zone": "a", "capacityType": "spot"}


def read(driver: dict[str, object], **spec: object) -> KarpenterGroup | str:
    settings = {"type": "karpenter", "nodeClassRef": NODE_CLASS, **driver}
    return read_karpenter_group({"spec": {"maxSize": 4, "driver": settings, **spec}})


def pins(group: KarpenterGroup | str) -> list[tuple[str, ...]]:
    assert isinstance(group, KarpenterGroup)
    return [(each.key, *each.values) for each in group.requirements]


def test_what_the_driver_does_not_pin_is_taken_from_the_templates_labels() -> None:
    labels = {
        "node.kubernetes.io/instance-type": "p5.48xlarge",
        "topology.kubernetes.io/zone": "a",
        "karpenter.sh/capacity-type": "spot",
        "topology.kubernetes.io/rack": "r7",
    }
    assert pins(read({"zone": "b"}, template={"metadata": {"labels": labels}})) == [
        ("node.kubernetes.io/instance-type", "p5.48xlarge"),
        ("topology.kubernetes.io/zone", "b"),
        ("karpenter.sh/capacity-type", "spot"),
    ]


def test_a_requirement_may_pin_as_well() -> None:
    requirement = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]}
    extra = {"key": "example.com/fabric", "operator": "Exists"}
    group = read({"instanceType": "p5", "capacityType": "spot", "requirements": [requirement, extra]})
    assert pins(group) == [
        ("node.kubernetes.io/instance-type", "p5"),
        ("karpenter.sh/capacity-type", "spot"),
        ("topology.kubernetes.io/zone", "a"),
        ("example.com/fabric",),
    ]


@pytest.mark.parametrize(
    ("driver", "reason"),
    [
        ({**PINNED, "instanceType": ""}, "field spec.driver.instanceType: pin node.kubernetes.io/instance-type"),
        ({**PINNED, "zone": ""}, "field spec.driver.zone: pin topology.kubernetes.io/zone"),
        ({**PINNED, "capacityType": ""}, "field spec.driver.capacityType: pin karpenter.sh/capacity-type"),
        (
            {
                **PINNED,
                "zone": "",
                "requirements": [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a", "b"]}],
            },
            "field spec.driver.zone: pin",
        ),
        (
            {**PINNED, "requirements": [{"key": "topology.kubernetes.io/zone", "operator": "NotIn", "values": ["b"]}]},
            "field spec.driver.zone: pin",
        ),
        ({**PINNED, "labels": {"karpenter.sh/nodepool": "gpu"}}, "karpenter.sh/nodepool would put the machines"),
        ({**PINNED, "startupTaints": []}, "field spec.driver.startupTaints: extra inputs are not permitted"),
        ({**PINNED, "nodeClassRef": {"kind": "EC2NodeClass", "name": "gpu"}}, "field spec.driver.nodeClassRef.group"),
    ],
)
def test_settings_that_break_a_rule_name_the_field(driver: dict[str, object], reason: str) -> None:
    found = read(driver)
    assert isinstance(found, str)
    assert reason in found
