"""Settings: directories of clusters, and clear refusals."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from muster_cluster_watcher.settings import Settings


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MUSTER_CLUSTERS", raising=False)
    monkeypatch.delenv("MUSTER_CLUSTER_DIRS", raising=False)


def test_directories_without_a_name_are_those_of_the_only_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUSTER_CLUSTER_DIRS", "/a, /b")
    assert Settings().dirs_of("local") == (Path("/a"), Path("/b"))


def test_several_clusters_have_directories_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUSTER_CLUSTERS", "eu,us")
    monkeypatch.setenv("MUSTER_CLUSTER_DIRS", "eu=/a,/b;us=/c")
    settings = Settings()
    assert settings.dirs_of("eu") == (Path("/a"), Path("/b"))
    assert settings.dirs_of("us") == (Path("/c"),)


def test_a_cluster_without_directories_has_its_overlay_only() -> None:
    assert Settings().dirs_of("local") == ()


@pytest.mark.parametrize(
    ("clusters", "dirs", "reason"),
    [
        ("eu,us", "/a", "name the cluster of each directory"),
        ("eu", "us=/a", "names 'us', which is not in MUSTER_CLUSTERS"),
        ("eu", "eu=/a;eu=/b", "stands twice"),
    ],
)
def test_directories_that_cannot_be_meant_are_refused(
    monkeypatch: pytest.MonkeyPatch, clusters: str, dirs: str, reason: str
) -> None:
    monkeypatch.setenv("MUSTER_CLUSTERS", clusters)
    monkeypatch.setenv("MUSTER_CLUSTER_DIRS", dirs)
    with pytest.raises(ValidationError, match=reason):
        Settings()


def test_a_source_that_does_not_exist_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUSTER_CLUSTER_SOURCE", "etcd")
    with pytest.raises(ValidationError, match="directory"):
        Settings()
