from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from contract.driver.suite import DriverContract
from muster_provisioner.adapters.simulated.driver import SimulatedCloud
from muster_provisioner.adapters.simulated.group_settings import SimulatedGroup, read_group
from muster_provisioner.adapters.simulated.state_file import StateFile
from muster_servicekit.clock import FakeClock
from muster_types import NodeGroupName, ObjectKey

GROUP = NodeGroupName("h100-r7")


class Nowhere:
    """`ClusterObjects` that nobody reads."""

    def put(self, obj: Mapping[str, object]) -> None:
        pass

    def delete(self, key: ObjectKey) -> None:
        pass


@dataclass(frozen=True, slots=True)
class SimulatedRig:
    driver: SimulatedCloud
    clock: FakeClock
    group: NodeGroupName = GROUP
    tells_of_changes: bool = True

    async def pass_time(self, seconds: float) -> None:
        end = self.clock.now().timestamp() + seconds
        while (now := self.clock.now().timestamp()) < end:
            moment = await self.driver.tick()
            await self.clock.advance(min(end - now, max((moment or end) - now, 0.01)))
        await self.driver.tick()


class TestSimulatedDriver(DriverContract):
    @pytest.fixture
    def rig(self, tmp_path: Path) -> SimulatedRig:
        clock = FakeClock()
        cloud = SimulatedCloud("local", 7, StateFile(tmp_path / "cloud" / "local.json"), Nowhere(), clock)
        settings = read_group(
            {
                "kind": "NodeGroup",
                "metadata": {"name": GROUP},
                "spec": {
                    "maxSize": 6,
                    "currentSize": 2,
                    "driver": {
                        "type": "simulated",
                        "deleteSeconds": 1,
                        "jitterSeconds": 1,
                        "script": [{"order": 2, "stockoutAfter": 1}],
                    },
                },
            }
        )
        assert isinstance(settings, SimulatedGroup)
        cloud.declare(settings)
        return SimulatedRig(cloud, clock)
