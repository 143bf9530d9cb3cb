"""Which cluster is which context, and clear refusals."""

from pathlib import Path

import pytest
from pydantic import ValidationError
from pydantic_settings import SettingsConfigDict

from muster_kubeapi import InCluster, KubeConfig, KubeSettings, describe


class Settings(KubeSettings):
    """A service's settings."""

    model_config = SettingsConfigDict(env_prefix="MUSTER_", frozen=True, extra="ignore")
    clusters: tuple[str, ...] = ("local",)


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("MUSTER_KUBECONFIG", "MUSTER_KUBE_CONTEXTS", "KUBERNETES_SERVICE_HOST", "KUBECONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


def a_file(folder: Path) -> Path:
    file = folder / "config"
    file.write_text("{}")
    return file


def test_the_only_cluster_is_the_current_context(tmp_path: Path) -> None:
    assert Settings(kubeconfig=a_file(tmp_path)).access_of("local") == KubeConfig(tmp_path / "config", "")


def test_contexts_are_named_for_each_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUSTER_KUBE_CONTEXTS", "eu=prod-eu; us = prod-us")
    settings = Settings(clusters=("eu", "us"))
    assert settings.access_of("us") == KubeConfig(None, "prod-us")


def test_one_context_without_a_name_is_that_of_the_only_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUSTER_KUBE_CONTEXTS", "prod")
    assert Settings().access_of("local") == KubeConfig(None, "prod")


def test_several_clusters_are_contexts_of_their_names() -> None:
    assert Settings(clusters=("eu", "us")).access_of("eu") == KubeConfig(None, "eu")


def test_a_pod_without_kubeconfig_is_in_its_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    assert isinstance(Settings().access_of("local"), InCluster)
    assert "serviceaccount" in describe(Settings().access_of("local"))
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube" / "config").write_text("{}")
    assert Settings().access_of("local") == KubeConfig(None, "")


@pytest.mark.parametrize(
    ("clusters", "contexts", "reason"),
    [
        (("eu", "us"), "prod", "name the cluster of each context"),
        (("eu",), "us=prod", "names 'us', which is not in MUSTER_CLUSTERS"),
        (("eu",), "eu=a;eu=b", "stands twice"),
    ],
)
def test_contexts_that_cannot_be_meant_are_refused(clusters: tuple[str, ...], contexts: str, reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        Settings.model_validate({"clusters": clusters, "kube_contexts": contexts})


def test_a_kubeconfig_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="no file at"):
        Settings(kubeconfig=tmp_path / "none")
