"""Settings of the provisioner; `MUSTER_<FIELD>` in the environment."""

from datetime import timedelta
from enum import Enum
from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator
from pydantic_settings import NoDecode

from muster_kube import overlay_path
from muster_kubeapi import KubeSettings
from muster_servicekit.settings import ServiceSettings
from muster_types import ClusterId


class SourceKind(Enum):
    """What stands for the clusters: overlays of directories, or their API servers."""

    DIRECTORY = "directory"
    KUBERNETES = "kubernetes"


class Settings(ServiceSettings, KubeSettings):
    """Alone, the service listens on a port of its own; port 0 asks for any free one."""

    grpc_listen: str = "127.0.0.1:7404"
    clusters: Annotated[tuple[str, ...], NoDecode] = ("local",)
    cluster_source: SourceKind = SourceKind.DIRECTORY
    query_wait: float = Field(default=5.0, gt=0, description="seconds that a query waits for min_sequence")
    seed: int = Field(default=1, description="what the simulated cloud leaves to chance")
    order_poll: timedelta = Field(
        default=timedelta(seconds=1), gt=timedelta(0), description="between looks at open orders"
    )
    order_late_poll: timedelta = Field(
        default=timedelta(seconds=10), gt=timedelta(0), description="between looks for late nodes"
    )
    order_late_window: timedelta = Field(
        default=timedelta(minutes=15),
        ge=timedelta(0),
        description="how long after its close an order's late nodes are found",
    )
    order_declaration_wait: timedelta = Field(
        default=timedelta(seconds=10), ge=timedelta(0), description="how long an order may be ahead of its node group"
    )
    externalgrpc_config: Annotated[dict[str, Path], NoDecode] = Field(
        default_factory=dict,
        description="cloud config files of externalgrpc providers: name=file;name=file, or the file of the only one",
    )

    @field_validator("externalgrpc_config", mode="before")
    @classmethod
    def _split_config(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        files: dict[str, Path] = {}
        for entry in filter(None, (part.strip() for part in value.split(";"))):
            name, named, file = entry.partition("=")
            name, file = (name.strip(), file.strip()) if named else ("", entry)
            if name in files:
                raise ValueError(f"provider {name!r} stands twice; give each provider a name of its own")
            files[name] = Path(file).expanduser()
        return files

    @field_validator("externalgrpc_config")
    @classmethod
    def _config_files(cls, value: dict[str, Path]) -> dict[str, Path]:
        if "" in value and len(value) > 1:
            raise ValueError("with several providers name each of them: prod=/x.yaml;lab=/y.yaml")
        for file in value.values():
            if not file.is_file():
                raise ValueError(f"no file at {file}")
        return value

    def overlay(self, cluster: str) -> Path:
        """Where the simulated cloud writes the objects of a cluster's new nodes."""
        return overlay_path(self.state_dir, ClusterId(cluster))

    def cloud_file(self, cluster: str) -> Path:
        """Where the simulated cloud of a cluster keeps its state."""
        return self.state_dir / "cloud" / f"{cluster}.json"
