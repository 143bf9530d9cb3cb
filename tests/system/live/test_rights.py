"""Each service with the rights of its manifest and no others: enough for a gang of every driver, and nothing unused."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from muster_kube.parts import at
from muster_kubeapi import Target, delete, patch
from muster_types import ObjectKey
from support.deployment import ROOT
from support.kube_api.calls import Permission
from support.kube_api.rights import allow, kubeconfig_of, used
from support.nats_server import wait_until
from support.processes import DEADLINE, MusterProcesses
from system.live import fleet
from system.live.fleet import CAPI, GRPC, KARPENTER
from system.live.running import Live
from system.live.story import BY_KIND, consumed, holds_in, make, request_key, wait_condition, wait_seen

pytestmark = pytest.mark.slow
SPEAKERS = ("cluster-watcher", "gang-coordinator", "provisioner")
COMPONENTS = ("karpenter", "clusterapi")
EVENTS = Permission("list", "", "events")
DRIFTS = Permission("create", "", "events")
SIZED = "machinedeployments"
ALIKE = {"machinesets": SIZED, "machinepools": SIZED}  # the kind is a setting; the calls are the same
NODE_CLASS = Permission("get", "test.example.com", "testnodeclasses")


@cache
def manifests() -> tuple[dict[str, Any], ...]:
    command = [str(Path(sys.executable).parent / "kubectl"), "kustomize", str(ROOT / "deploy" / "base")]
    built = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    parts = [(ROOT / "deploy" / "components" / name / "role.yaml").read_text() for name in COMPONENTS]
    return tuple(each for text in (built, *parts) for each in yaml.safe_load_all(text))


def rights_of(service: str) -> frozenset[Permission]:
    """What the roles that are bound to the service's account grant. Node classes of providers become the test's own."""
    bound = {
        each["roleRef"]["name"]
        for each in manifests()
        if each["kind"] == "ClusterRoleBinding" and each["subjects"][0]["name"] == service
    }
    roles = [each for each in manifests() if each["kind"] == "ClusterRole" and each["metadata"]["name"] in bound]
    return frozenset(
        _alike(Permission(verb, group, resource))
        for role in roles
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    )


def _alike(right: Permission) -> Permission:
    if right.group.startswith("karpenter.") and right.group != "karpenter.sh":
        return NODE_CLASS
    plural, slash, below = right.resource.partition("/")
    return Permission(right.verb, right.group, ALIKE.get(plural, plural) + slash + below)


@dataclass(slots=True)
class RestrictedMuster(MusterProcesses):
    """Every service known to the API server as itself."""

    def environment(self, name: str) -> dict[str, str]:
        made = super(RestrictedMuster, self).environment(name)
        own = self.home / "rights" / f"{name}.kubeconfig"
        return {**made, "MUSTER_KUBECONFIG": str(own)} if name in SPEAKERS else made


@dataclass(slots=True)
class RestrictedLive(Live):
    def __post_init__(self) -> None:
        super(RestrictedLive, self).__post_init__()
        self.server.rights = self.home / "rights"
        self.muster = RestrictedMuster(self.home, self.muster.load, self.muster.settings)

    def start(self) -> None:
        for service in SPEAKERS:
            allow(self.home / "rights", service, rights_of(service))
        super(RestrictedLive, self).start()

    def started_server(self) -> None:
        for service in SPEAKERS:
            kubeconfig_of(self.home / "rights", service, self.server.url)


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestrictedLive]:
    running = RestrictedLive(tmp_path_factory.mktemp("rights"))
    try:
        running.start()
        yield running
    finally:
        running.stop()
    assert running.muster.tracebacks() == []


async def test_each_service_calls_exactly_what_its_role_allows(live: RestrictedLive) -> None:
    async with live.at_work() as client:
        for pool in (GRPC, CAPI, KARPENTER):
            await make(client, fleet.a_request(pool, f"of-{pool}"))
        await asyncio.gather(*(consumed(live.server, client, f"of-{pool}") for pool in (GRPC, CAPI, KARPENTER)))
        await make(client, fleet.a_group(CAPI, "group"))
        member = ObjectKey("Pod", "ml", "group-0")
        await wait_seen(client, lambda objects: at(objects.get(member), "spec", "nodeName") is not None, "it runs")
    async with live.at_work(bind=False) as client:  # given back: machines and claims are deleted
        for pool in (CAPI, KARPENTER):
            await make(client, fleet.a_request(pool, f"back-{pool}"))
            await wait_condition(client, f"back-{pool}", "Provisioned", "CapacityIsProvisioned")
            drift = {"template": {"metadata": {"labels": {"late": "yes"}}}}
            await patch(client, Target(BY_KIND["PodTemplate"], "ml", f"back-{pool}"), drift)
            await wait_until(lambda: DRIFTS in used(live.home / "rights", "gang-coordinator"), "it is told", DEADLINE)
            await delete(client, Target(BY_KIND["ProvisioningRequest"], "ml", f"back-{pool}"))
            await wait_seen(client, lambda objects, name=f"back-{pool}": request_key(name) not in objects, "it is gone")
        await wait_seen(client, lambda objects: holds_in(objects) == [], "nothing is held any more")
    async with live.at_work(stock=lambda _: False) as client:  # why a claim failed stands in events
        await make(client, fleet.a_request(KARPENTER, "sold-out"))
        await wait_until(
            lambda: EVENTS in used(live.home / "rights", "provisioner"), "the provisioner has asked why", DEADLINE
        )
        await delete(client, Target(BY_KIND["ProvisioningRequest"], "ml", "sold-out"))
        await wait_seen(client, lambda objects: request_key("sold-out") not in objects, "the request is gone")
    called = {service: used(live.home / "rights", service) for service in SPEAKERS}
    for service in SPEAKERS:
        assert sorted(called[service] ^ rights_of(service)) == [], service
