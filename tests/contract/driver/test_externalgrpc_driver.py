from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

import pytest

from contract.driver.served_cloud import ServedCloud, a_sold_group, serving
from contract.driver.suite import DriverContract
from muster_provisioner.adapters.cluster_nodes import DirectoryNodes
from muster_provisioner.adapters.externalgrpc.driver import ExternalGrpcDriver
from muster_provisioner.ports import DeclaredGroup
from muster_types import NodeGroupName

GROUP = NodeGroupName("gpu-nodes")


@dataclass(frozen=True, slots=True)
class ExternalRig:
    driver: ExternalGrpcDriver
    served: ServedCloud
    group: NodeGroupName = GROUP
    tells_of_changes: bool = False

    async def pass_time(self, seconds: float) -> None:
        await self.served.pass_time(seconds)


class TestExternalGrpcDriver(DriverContract):
    @pytest.fixture
    async def rig(self, tmp_path: Path) -> AsyncGenerator[ExternalRig]:
        async with serving(tmp_path, a_sold_group()) as served:
            driver = ExternalGrpcDriver({}, DirectoryNodes(served.directory))
            settings = {"type": "externalgrpc", "address": served.address, "id": "h100-r7"}
            assert driver.declare(DeclaredGroup(GROUP, "externalgrpc", {"spec": {"driver": settings}})) is None
            yield ExternalRig(driver, served)
            await driver.close()
