"""What the manifests promise beyond their schemas: containers without rights, what belongs together, known settings."""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

import muster_claim_matcher.settings
import muster_cluster_watcher.settings
import muster_gang_coordinator.settings
import muster_inventory.settings
import muster_provisioner.settings
from muster_kube import KINDS
from support.deployment import DOCKERFILE, ROOT

DEPLOY = ROOT / "deploy"
BUILT = ("base", "overlays/laptop", "overlays/production")
SETTINGS = {
    "inventory": muster_inventory.settings.Settings,
    "claim-matcher": muster_claim_matcher.settings.Settings,
    "gang-coordinator": muster_gang_coordinator.settings.Settings,
    "provisioner": muster_provisioner.settings.Settings,
    "cluster-watcher": muster_cluster_watcher.settings.Settings,
}
Json = dict[str, Any]


@cache
def built(directory: str) -> tuple[Json, ...]:
    return kustomized(DEPLOY / directory)


def kustomized(directory: Path) -> tuple[Json, ...]:
    command = [str(Path(sys.executable).parent / "kubectl"), "kustomize", str(directory)]
    return tuple(yaml.safe_load_all(subprocess.run(command, capture_output=True, text=True, check=True).stdout))


def of_kind(directory: str, *kinds: str) -> dict[str, Json]:
    return {each["metadata"]["name"]: each for each in built(directory) if each["kind"] in kinds}


def pods(directory: str) -> dict[str, Json]:
    return {
        name: each["spec"]["template"] for name, each in of_kind(directory, "Deployment", "StatefulSet", "Job").items()
    }


@pytest.mark.parametrize("directory", BUILT)
def test_no_container_has_a_right_that_it_does_not_need(directory: str) -> None:
    assert pods(directory)
    for name, pod in pods(directory).items():
        spec = pod["spec"]
        context = spec["securityContext"]
        assert context["runAsNonRoot"], name
        assert context["runAsUser"] >= 100, name
        assert context["seccompProfile"] == {"type": "RuntimeDefault"}, name
        for container in spec["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }, name
            assert {"cpu", "memory"} <= container["resources"]["requests"].keys(), name
            assert "memory" in container["resources"]["limits"], name


@pytest.mark.parametrize("directory", BUILT)
def test_every_service_has_its_address_its_budget_and_its_image(directory: str) -> None:
    targets = {line.split()[-1] for line in DOCKERFILE.read_text().splitlines() if line.startswith("FROM ")}
    for name in SETTINGS:
        assert name in of_kind(directory, "Service"), name
        budget = of_kind(directory, "PodDisruptionBudget")[name]
        labels = pods(directory)[name]["metadata"]["labels"]
        assert budget["spec"]["selector"]["matchLabels"].items() <= labels.items(), name
        image = pods(directory)[name]["spec"]["containers"][0]["image"].split(":")[0]
        assert image == f"muster/{name}"
        assert name in targets


@pytest.mark.parametrize("directory", BUILT)
def test_every_setting_of_the_manifests_is_one_that_a_service_reads(directory: str) -> None:
    maps = {name: each.get("data", {}) for name, each in of_kind(directory, "ConfigMap").items()}
    known = {f"MUSTER_{field}".upper() for each in SETTINGS.values() for field in each.model_fields}
    known |= {f"MUSTER_{name.upper().replace('-', '_')}_ADDRESS" for name in SETTINGS}
    for name in SETTINGS:
        container = pods(directory)[name]["spec"]["containers"][0]
        given = {variable["name"] for variable in container["env"]}
        for source in container["envFrom"]:
            given |= maps[source["configMapRef"]["name"]].keys()
        assert given <= known, name
        values = {
            key: value for source in container["envFrom"] for key, value in maps[source["configMapRef"]["name"]].items()
        }
        assert values["MUSTER_CLUSTER_SOURCE"] == "kubernetes"


@pytest.mark.parametrize("directory", BUILT)
def test_only_services_that_speak_to_the_api_server_have_a_token(directory: str) -> None:
    with_token = {
        name for name, pod in pods(directory).items() if pod["spec"].get("automountServiceAccountToken", True)
    }
    assert with_token == {"cluster-watcher", "gang-coordinator", "provisioner"}
    assert {name.removeprefix("muster-") for name in of_kind(directory, "ClusterRole")} == with_token


def test_the_watcher_may_list_and_watch_every_kind_that_is_read_and_nothing_else() -> None:
    allowed = {
        (group, resource): set(rule["verbs"])
        for rule in of_kind("base", "ClusterRole")["muster-cluster-watcher"]["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    served = {(kind.group, kind.plural) for kind in KINDS.values() if kind.name != "NodeGroup"}
    assert allowed == {each: {"list", "watch"} for each in served}


def test_production_gives_every_wire_its_certificates() -> None:
    for name in (*SETTINGS, "streams", "nats"):
        spec = pods("overlays/production")[name]["spec"]
        secret = next(volume["secret"]["secretName"] for volume in spec["volumes"] if "secret" in volume)
        assert secret == ("operator-tls" if name == "streams" else f"{name}-tls")
    certificates = (DEPLOY / "overlays/production/certificates.yaml").read_text()
    issued = {each["spec"]["secretName"] for each in yaml.safe_load_all(certificates)}
    assert issued == {*(f"{name}-tls" for name in SETTINGS), "operator-tls", "nats-tls"}


def test_the_provisioner_reaches_a_provider_of_nodes_where_its_component_is_used(tmp_path: Path) -> None:
    here = tmp_path.resolve()  # kustomize takes no absolute ways
    parts = {"resources": "overlays/production", "components": "components/externalgrpc"}
    overlay = {key: [os.path.relpath(DEPLOY.resolve() / part, here)] for key, part in parts.items()}
    (here / "kustomization.yaml").write_text(yaml.safe_dump(overlay))
    objects = {(each["kind"], each["metadata"]["name"]): each for each in kustomized(here)}
    pod = objects["Deployment", "provisioner"]["spec"]["template"]
    container = pod["spec"]["containers"][0]
    (config,) = [each["value"] for each in container["env"] if each["name"] == "MUSTER_EXTERNALGRPC_CONFIG"]
    mounted = {each["mountPath"]: each["name"] for each in container["volumeMounts"]}
    volumes = {each["name"] for each in pod["spec"]["volumes"]}
    assert mounted[str(Path(config).parent)] in volumes
    assert "/etc/muster/tls" in mounted, "what production mounts stays"
    policy = objects["NetworkPolicy", "provisioner-to-cloud"]["spec"]
    assert policy["podSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    (egress,) = policy["egress"]
    assert egress["to"][0]["podSelector"]["matchLabels"] == {"muster.dev/externalgrpc": "server"}


def test_copies_of_one_file_are_the_same() -> None:
    assert (DEPLOY / "overlays/production/users.conf").read_bytes() == (DEPLOY / "nats/users.conf").read_bytes()
    assert (DEPLOY / "overlays/laptop/nats.conf").read_bytes() == (DEPLOY / "nats/nats.conf").read_bytes()
