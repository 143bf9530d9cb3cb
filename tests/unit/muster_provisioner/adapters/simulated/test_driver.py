"""The driver's loop: objects of machines, a state file that outlives the process, and what goes wrong with it."""

from pathlib import Path

import pytest

from muster_provisioner.adapters.simulated.driver import SimulatedCloud
from muster_provisioner.adapters.simulated.state_file import StateFile
from muster_provisioner.ports import DriverError, DriverErrorKind, OrderTags
from muster_servicekit.clock import FakeClock
from muster_types import GangId, NodeGroupName, ObjectKey, OrderId
from unit.muster_provisioner.handlers.world import FakeObjects

from .groups import Json, a_device, a_group, a_template

GROUP = NodeGroupName("h100-r7")
TAGS = OrderTags(OrderId("train-1a2b3c-a1-1"), GangId("train-1a2b3c"), 0)
SLICE: Json = {"driver": "gpu.example.com", "devices": [a_device("gpu-0")]}
AGENT: Json = {"metadata": {"name": "agent", "namespace": "system"}, "spec": {}}
TEMPLATE = a_template(resourceSlices=[SLICE], daemonPods=[AGENT])


class Scene:
    """A cloud on its file and objects; `restart` is a new process."""

    def __init__(self, path: Path, **driver: object) -> None:
        self.clock, self.objects = FakeClock(), FakeObjects()
        self.path = path / "cloud" / "local.json"
        self.settings = a_group(TEMPLATE, driver=driver)
        self.cloud = self.restart()

    def restart(self) -> SimulatedCloud:
        self.cloud = SimulatedCloud("local", 1, StateFile(self.path), self.objects, self.clock)
        self.cloud.declare(self.settings)
        return self.cloud

    async def after(self, seconds: float) -> dict[str, int]:
        """How many objects of each kind there are so much later."""
        await self.clock.advance(seconds)
        await self.cloud.tick()
        counted = {kind: len(self.objects.names(kind)) for kind in ("Node", "ResourceSlice", "Pod")}
        return {kind: count for kind, count in counted.items() if count}

    def ready(self) -> list[object]:
        return [
            obj["status"]["conditions"][0]["status"]  # type: ignore[index,call-overload]
            for key, obj in sorted(self.objects.by_key.items())
            if key.kind == "Node"
        ]


async def test_nodes_register_then_get_ready_then_publish_their_slices(tmp_path: Path) -> None:
    scene = Scene(tmp_path, bootSeconds=4, slicesAfterSeconds=2)
    await scene.cloud.increase(GROUP, 2, TAGS)
    assert await scene.after(1) == {}
    assert await scene.after(1) == {"Node": 2}
    assert scene.ready() == ["False", "False"]
    assert await scene.after(2) == {"Node": 2, "Pod": 2}
    assert scene.ready() == ["True", "True"]
    assert await scene.after(2) == {"Node": 2, "ResourceSlice": 2, "Pod": 2}


async def test_t19_late_slices_and_nodes_that_never_get_ready_are_scripted(tmp_path: Path) -> None:
    script = [{"order": 1, "lateSlicesSeconds": 600}, {"order": 2, "neverReady": True}]
    scene = Scene(tmp_path, script=script)
    await scene.cloud.increase(GROUP, 1, TAGS)
    await scene.cloud.increase(GROUP, 1, OrderTags(OrderId("other"), GangId("g"), 0))
    assert await scene.after(500) == {"Node": 2, "Pod": 1}
    assert sorted(map(str, scene.ready())) == ["False", "True"]
    assert await scene.after(500) == {"Node": 2, "Pod": 1, "ResourceSlice": 1}


async def test_a_new_process_goes_on_where_the_old_one_stopped(tmp_path: Path) -> None:
    scene = Scene(tmp_path, bootSeconds=4, slicesAfterSeconds=2)
    await scene.cloud.increase(GROUP, 1, TAGS)
    await scene.after(2)
    scene.restart()
    assert await scene.after(10) == {"Node": 1, "ResourceSlice": 1, "Pod": 1}
    assert await scene.cloud.target_size(GROUP) == 1
    assert await scene.cloud.calls(GROUP) == (1, 1)


async def test_a_deletion_takes_all_objects_of_the_machine_away(tmp_path: Path) -> None:
    scene = Scene(tmp_path, deleteSeconds=3)
    await scene.cloud.increase(GROUP, 2, TAGS)
    await scene.after(10)
    first = (await scene.cloud.instances(GROUP))[0]
    await scene.cloud.delete(GROUP, [first.id])
    assert await scene.after(1) == {"Node": 2, "ResourceSlice": 2, "Pod": 2}
    assert await scene.after(3) == {"Node": 1, "ResourceSlice": 1, "Pod": 1}
    assert ObjectKey("Node", "", first.node) not in scene.objects.by_key


async def test_objects_written_right_before_a_crash_go_with_their_machine_all_the_same(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    await scene.cloud.increase(GROUP, 1, TAGS)
    before = scene.path.read_bytes()
    assert await scene.after(10) == {"Node": 1, "ResourceSlice": 1, "Pod": 1}
    scene.path.write_bytes(before)  # the objects were written, the state was not
    scene.restart()
    (machine,) = await scene.cloud.instances(GROUP)
    await scene.cloud.delete(GROUP, [machine.id])
    assert await scene.after(1) == {}


async def test_a_withdrawn_group_takes_no_orders_and_can_be_emptied(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    await scene.cloud.increase(GROUP, 1, TAGS)
    scene.cloud.withdraw(GROUP)
    with pytest.raises(DriverError, match="withdrawn") as refused:
        await scene.cloud.increase(GROUP, 1, TAGS)
    assert refused.value.kind is DriverErrorKind.PERMANENT
    assert await scene.cloud.groups() == ()
    (machine,) = await scene.cloud.instances(GROUP)
    await scene.cloud.delete(GROUP, [machine.id])
    await scene.after(1)
    assert await scene.cloud.instances(GROUP) == ()


async def test_a_damaged_state_file_is_a_permanent_error_that_says_what_to_do(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.path.parent.mkdir()
    scene.path.write_text("{")
    with pytest.raises(DriverError) as error:
        await scene.cloud.increase(GROUP, 1, TAGS)
    assert error.value.kind is DriverErrorKind.PERMANENT
    assert str(scene.path) in error.value.message
    assert "restore it, or move it away" in error.value.message
