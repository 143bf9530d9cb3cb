import pytest

from muster_provisioner.adapters.externalgrpc.driver import ExternalGrpcDriver
from muster_provisioner.adapters.externalgrpc.endpoint import Endpoint
from muster_provisioner.ports import DeclaredGroup
from muster_types import NodeGroupName, NodeName

ONE = {"": Endpoint(address="h:1")}
TWO = {"prod": Endpoint(address="h:1"), "lab": Endpoint(address="h:2")}


class NoNodes:
    """`ClusterNodes` without any."""

    async def names(self, provider_ids: object) -> dict[str, NodeName]:
        return {}


def problem(endpoints: dict[str, Endpoint], **driver: object) -> str | None:
    manifest = {"spec": {"driver": {"type": "externalgrpc", **driver}}}
    return ExternalGrpcDriver(endpoints, NoNodes()).declare(DeclaredGroup(NodeGroupName("g"), "externalgrpc", manifest))


@pytest.mark.parametrize(
    ("endpoints", "driver"),
    [(ONE, {}), (TWO, {"provider": "lab"}), ({}, {"address": "h:3"}), (TWO, {"address": "h:3"})],
)
def test_a_group_finds_its_provider(endpoints: dict[str, Endpoint], driver: dict[str, object]) -> None:
    assert problem(endpoints, **driver) is None


@pytest.mark.parametrize(
    ("endpoints", "driver", "reason"),
    [
        ({}, {}, "field spec.driver.provider: name a provider; MUSTER_EXTERNALGRPC_CONFIG has none"),
        (TWO, {}, "field spec.driver.provider: name a provider; MUSTER_EXTERNALGRPC_CONFIG has several"),
        (TWO, {"provider": "x"}, "there is no provider 'x' in MUSTER_EXTERNALGRPC_CONFIG (known: lab, prod)"),
        (TWO, {"provider": "lab", "address": "h:3"}, "exclude each other"),
        (ONE, {"address": "nowhere"}, "field spec.driver.address: string should match pattern"),
        (ONE, {"settleSeconds": 0}, "field spec.driver.settleSeconds: input should be greater than 0 (got 0)"),
    ],
)
def test_a_group_without_provider_says_which_field_is_wrong(
    endpoints: dict[str, Endpoint], driver: dict[str, object], reason: str
) -> None:
    found = problem(endpoints, **driver)
    assert found is not None
    assert reason in found
