"""Settings that every service has: read once, checked, frozen, passed down. Defaults suit the embedded mode."""

import re
import sys
from pathlib import Path
from typing import Annotated, NoReturn, TypeVar

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from muster_eventstore import NatsAddress

_HOST_PORT = r"^(unix:.+|\[[0-9a-fA-F:]+\]:\d{1,5}|[^:\s]+:\d{1,5})$"


class ServiceSettings(BaseSettings):
    """Environment variables `MUSTER_<FIELD>`. Services derive their own; a field they do not know is ignored, so that
    one environment serves all of them."""

    model_config = SettingsConfigDict(env_prefix="MUSTER_", frozen=True, extra="ignore")

    nats_url: str = Field(default="nats://127.0.0.1:4222", pattern=r"^(nats|tls|ws|wss)://\S+$")
    nats_credentials: Path | None = None
    nats_ca: Path | None = None
    nats_certificate: Path | None = None
    nats_key: Path | None = None
    grpc_listen: str = Field(default="127.0.0.1:0", pattern=_HOST_PORT)
    grpc_certificate: Path | None = None
    grpc_key: Path | None = None
    grpc_client_ca: Path | None = None
    grpc_ca: Path | None = Field(default=None, description="authority of the services that this one calls")
    clusters: Annotated[tuple[str, ...], NoDecode] = ("local",)
    state_dir: Path = Path(".muster")
    lease_seconds: int = Field(
        default=5, ge=0, description="how long a replica that is silent keeps its lease; 0: there is one replica only"
    )
    redis_url: str | None = Field(default=None, pattern=r"^(redis|rediss|unix)://\S+$")
    log_format: str = Field(default="console", pattern=r"^(console|json)$")
    log_level: str = Field(default="info", pattern=r"^(debug|info|warning|error)$")
    metrics_port: int = Field(default=0, ge=0, le=65535, description="0 serves no metrics")
    stop_grace: float = Field(default=10.0, ge=0, description="seconds for running work at a stop")

    @field_validator("clusters", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("clusters")
    @classmethod
    def _some(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not value:
            raise ValueError("name at least one cluster, for example MUSTER_CLUSTERS=local")
        return value

    @field_validator("lease_seconds")
    @classmethod
    def _long_enough(cls, value: int) -> int:
        if value == 1:
            raise ValueError("a lease lives at least 2 seconds; 0 takes none")
        return value

    @field_validator("grpc_listen")
    @classmethod
    def _is_address(cls, value: str) -> str:
        # Services have defaults of their own, which replace the field above with its pattern.
        port = value.rpartition(":")[2]
        if not re.match(_HOST_PORT, value) or (port.isdigit() and int(port) > 65535):
            raise ValueError("write host:port with a port up to 65535, for example 127.0.0.1:0 for any free port")
        return value

    @field_validator("state_dir")
    @classmethod
    def _expand(cls, value: Path) -> Path:
        path = value.expanduser()
        if path.exists() and not path.is_dir():
            raise ValueError(f"{path} is no directory")
        return path

    @field_validator(
        "nats_credentials",
        "nats_ca",
        "nats_certificate",
        "nats_key",
        "grpc_certificate",
        "grpc_key",
        "grpc_client_ca",
        "grpc_ca",
    )
    @classmethod
    def _is_file(cls, value: Path | None) -> Path | None:
        if value is not None and not value.is_file():
            raise ValueError(f"no file at {value}")
        return value

    @property
    def nats(self) -> NatsAddress:
        """Where the NATS server is, and the credentials for it."""
        return NatsAddress(self.nats_url, self.nats_credentials, self.nats_ca, self.nats_certificate, self.nats_key)


S = TypeVar("S", bound=BaseSettings)


def read_settings(cls: type[S]) -> S:
    """The settings from the environment; bad values end the process with a line for each and exit status 2."""
    try:
        return cls()
    except ValidationError as error:
        _refuse(cls, error)


def _refuse(cls: type[BaseSettings], error: ValidationError) -> NoReturn:
    prefix = cls.model_config.get("env_prefix", "")
    for problem in error.errors(include_url=False):
        reason = problem["msg"].removeprefix("Value error, ")
        if not problem["loc"]:  # about several settings together; the message names them
            sys.stderr.write(f"settings are not usable: {reason}\n")
            continue
        name = prefix + "_".join(str(part) for part in problem["loc"]).upper()
        sys.stderr.write(f"setting {name}={problem['input']!r} is not usable: {reason}\n")
    raise SystemExit(2)
