"""Settings of the cluster watcher; `MUSTER_<FIELD>` in the environment."""

from enum import Enum
from typing import Annotated

from pydantic import Field, field_validator
from pydantic_settings import NoDecode

from muster_kube import KINDS, Limits
from muster_kube.readings import MIB
from muster_kubeapi import KubeSettings
from muster_servicekit.cluster_dirs import ClusterDirSettings


class SourceKind(Enum):
    """Where clusters are seen."""

    DIRECTORY = "directory"
    KUBERNETES = "kubernetes"


class Settings(KubeSettings, ClusterDirSettings):
    """Alone, the service listens on a port of its own; port 0 asks for any free one."""

    grpc_listen: str = "127.0.0.1:7405"
    clusters: Annotated[tuple[str, ...], NoDecode] = ("local",)
    cluster_source: SourceKind = SourceKind.DIRECTORY
    poll_seconds: float = Field(default=5.0, gt=0, description="how often directories are looked at without a notice")
    input_file_mib: int = Field(default=64, gt=0, description="larger files are refused")
    kube_page: int = Field(default=500, ge=10, le=10_000, description="objects of one page of a list")
    kube_rediscover: float = Field(default=300.0, gt=0, description="seconds between two looks at what is served")
    kube_skip: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), description="kinds that are not read, comma-separated: for clusters that do not allow it"
    )
    fact_bytes: int = Field(default=900_000, gt=0, description="larger objects are refused; NATS takes 1 MiB a message")

    @field_validator("kube_skip", mode="before")
    @classmethod
    def _split_kinds(cls, value: object) -> object:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("kube_skip")
    @classmethod
    def _known_kinds(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        unknown = sorted(set(value) - KINDS.keys())
        if unknown:
            raise ValueError(f"{unknown[0]!r} is no kind that Muster reads; they are {', '.join(KINDS)}")
        return value

    @property
    def limits(self) -> Limits:
        """How much one file may hold."""
        return Limits(file_bytes=self.input_file_mib * MIB)
