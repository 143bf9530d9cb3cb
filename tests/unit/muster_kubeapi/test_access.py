"""Configurations as kubeconfigs and service accounts give them, and what is said of those that can't be used."""

import base64
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from muster_kubeapi import AccessInvalid, InCluster, KubeConfig
from muster_kubeapi.access import load


def a_kubeconfig(folder: Path, user: Mapping[str, object], name: str = "config") -> Path:
    config = {
        "clusters": [{"name": "c", "cluster": {"server": "https://api.example.com:6443/", "tls-server-name": "api"}}],
        "users": [{"name": "u", "user": dict(user)}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    file = folder / name
    file.write_text(yaml.safe_dump(config))
    return file


async def test_a_token_is_sent_as_bearer(tmp_path: Path) -> None:
    found = await load(KubeConfig(a_kubeconfig(tmp_path, {"token": "t1"})))
    assert found.url == "https://api.example.com:6443"
    assert found.authorization == "Bearer t1"
    assert found.server_name == "api"


async def test_a_token_file_is_read_each_time(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("t1")
    config = KubeConfig(a_kubeconfig(tmp_path, {"tokenFile": str(token)}))
    assert (await load(config)).authorization == "Bearer t1"
    token.write_text("t2\n")
    assert (await load(config)).authorization == "Bearer t2"


async def test_user_and_password_are_sent_as_basic(tmp_path: Path) -> None:
    found = await load(KubeConfig(a_kubeconfig(tmp_path, {"username": "u", "password": "p"})))
    assert found.authorization == f"Basic {base64.b64encode(b'u:p').decode()}"


async def test_a_plugin_is_asked(tmp_path: Path) -> None:
    credential = '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"t9"}}'
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": "echo", "args": [credential]}
    found = await load(KubeConfig(a_kubeconfig(tmp_path, {"exec": {**plugin, "interactiveMode": "Never"}})))
    assert found.authorization == "Bearer t9"


async def test_the_identity_is_that_of_server_and_authority_and_not_of_the_user(tmp_path: Path) -> None:
    first = await load(KubeConfig(a_kubeconfig(tmp_path, {"token": "t1"}, "a")))
    second = await load(KubeConfig(a_kubeconfig(tmp_path, {"token": "t2"}, "b")))
    assert first.identity == second.identity


async def test_a_service_account_names_its_server_in_the_environment(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t1\n")
    (tmp_path / "ca.crt").write_text("certificate")
    environment = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    found = await load(InCluster(tmp_path, environment))
    assert found.url == "https://[fd00::1]:443"
    assert found.authorization == "Bearer t1"
    assert found.tls.ca_file == str(tmp_path / "ca.crt")


async def test_what_cannot_be_used_is_said_with_file_and_context(tmp_path: Path) -> None:
    with pytest.raises(AccessInvalid, match=r"no kubeconfig at .*none: name one by MUSTER_KUBECONFIG"):
        await load(KubeConfig(tmp_path / "none"))
    with pytest.raises(AccessInvalid, match=r"kubeconfig .*config, context 'y' cannot be used: .*y"):
        await load(KubeConfig(a_kubeconfig(tmp_path, {}), "y"))
    (tmp_path / "broken").write_text("clusters: [")
    with pytest.raises(AccessInvalid, match="broken cannot be used"):
        await load(KubeConfig(tmp_path / "broken"))
    with pytest.raises(AccessInvalid, match=r"service account in .* cannot be used: Service host/port is not set"):
        await load(InCluster(tmp_path, {}))
