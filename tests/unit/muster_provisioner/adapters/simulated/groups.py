"""Simulated node groups as NodeGroup objects; every part can be overridden."""

from collections.abc import Mapping

from muster_provisioner.adapters.simulated.group_settings import SimulatedGroup, read_group
from muster_provisioner.adapters.simulated.state import Machine, Phase
from muster_provisioner.domain.messages import InstanceId
from muster_types import GangId, NodeName, OrderId

Json = dict[str, object]
NODE = NodeName("h100-r7-abcde-0")


def a_device(name: str, **attributes: Mapping[str, object]) -> Json:
    return {"name": name, "attributes": {key: dict(value) for key, value in attributes.items()}}


def a_template(**parts: object) -> Json:
    return {
        "metadata": {"labels": {"topology.kubernetes.io/rack": "r7"}},
        "status": {"allocatable": {"cpu": 192, "memory": "2Ti", "pods": "110"}},
        **parts,
    }


def a_group(template: Json | None = None, *, driver: Json | None = None, **spec: object) -> SimulatedGroup:
    manifest = {
        "apiVersion": "muster.dev/v1alpha1",
        "kind": "NodeGroup",
        "metadata": {"name": "h100-r7"},
        "spec": {"maxSize": 16, "driver": driver or {}, "template": template or a_template(), **spec},
    }
    group = read_group(manifest)
    assert isinstance(group, SimulatedGroup), group
    return group


def a_machine(node: NodeName = NODE, *, unit: int = 0) -> Machine:
    return Machine(
        id=InstanceId(f"simulated://local/h100-r7/{node}"),
        node=node,
        phase=Phase.READY,
        order=OrderId("train-1a2b3c-a1-1"),
        gang=GangId("train-1a2b3c"),
        ordinal=3,
        unit=unit,
        register_at=1_700_000_000,
        ready_at=1_700_000_002,
    )
