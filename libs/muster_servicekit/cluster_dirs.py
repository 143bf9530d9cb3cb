"""The setting that says which directories make up each simulated cluster; watcher and coordinator share it."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator, model_validator
from pydantic_settings import NoDecode

from muster_servicekit.settings import ServiceSettings


class ClusterDirSettings(ServiceSettings):
    """`cluster_dirs` names the dumps of each cluster, lowest layer first: `local=/dumps/a,/dumps/b;other=/dumps/c`, or
    without a name for the only cluster. Above them lies the overlay that the services write."""

    cluster_dirs: Annotated[dict[str, tuple[Path, ...]], NoDecode] = Field(default_factory=dict)

    @field_validator("cluster_dirs", mode="before")
    @classmethod
    def _split_dirs(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        dirs: dict[str, tuple[Path, ...]] = {}
        for entry in filter(None, (part.strip() for part in value.split(";"))):
            cluster, named, paths = entry.partition("=")
            if not named:
                cluster, paths = "", entry
            if cluster.strip() in dirs:
                raise ValueError(f"cluster {cluster.strip()!r} stands twice; join its directories by commas")
            dirs[cluster.strip()] = tuple(Path(path.strip()).expanduser() for path in paths.split(",") if path.strip())
        return dirs

    @model_validator(mode="after")
    def _known_clusters(self) -> "ClusterDirSettings":
        unnamed = self.cluster_dirs.get("")
        if unnamed is not None and (len(self.clusters) != 1 or len(self.cluster_dirs) != 1):
            raise ValueError("with several clusters name the cluster of each directory: MUSTER_CLUSTER_DIRS=a=/x;b=/y")
        unknown = sorted(set(self.cluster_dirs) - {*self.clusters, ""})
        if unknown:
            raise ValueError(f"MUSTER_CLUSTER_DIRS names {unknown[0]!r}, which is not in MUSTER_CLUSTERS; add it there")
        return self

    def dirs_of(self, cluster: str) -> tuple[Path, ...]:
        """The dumps of a cluster, lowest layer first."""
        return self.cluster_dirs.get(cluster, self.cluster_dirs.get("", ()))
