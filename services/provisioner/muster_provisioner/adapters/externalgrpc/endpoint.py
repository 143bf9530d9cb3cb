"""Where a provider of the externalgrpc protocol listens, in the form of the Cluster Autoscaler's cloud config."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

DEFAULT_TIMEOUT = timedelta(seconds=5)
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)", re.ASCII)
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


class BadEndpoint(Exception):
    """The config is not usable; the message names file, field and reason."""


def _duration(value: object) -> object:
    """A Go duration such as `1m30s` or `500ms`; anything else is left to pydantic."""
    parts = _PART.findall(value) if isinstance(value, str) else []
    if not parts or "".join(number + unit for number, unit in parts) != value:
        return value
    return timedelta(seconds=sum(float(number) * _SECONDS[unit] for number, unit in parts))


def _above_zero(value: timedelta) -> timedelta:
    if value <= timedelta(0):
        raise ValueError("write a time above 0, for example 5s")
    return value


class Endpoint(BaseModel):
    """`address` is host:port; the files are PEM. With `cert` both sides show certificates and the server's must be
    issued for the host part; without it the connection is plain (group-capacity §5.2)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    address: Annotated[str, Field(pattern=r"^(\[[^\]\s]+\]|[^:\s/\[\]]+):\d{1,5}$")]
    key: Path | None = None
    cert: Path | None = None
    cacert: Path | None = None
    grpc_timeout: Annotated[timedelta, BeforeValidator(_duration), AfterValidator(_above_zero)] = DEFAULT_TIMEOUT

    @model_validator(mode="after")
    def _whole(self) -> "Endpoint":
        if self.cert is not None and (self.key is None or self.cacert is None):
            raise ValueError("with cert, key and cacert are needed too")
        if self.cert is None and (self.key is not None or self.cacert is not None):
            raise ValueError("key or cacert without cert would connect without TLS; write cert too")
        return self


def read_endpoint(path: Path) -> Endpoint:
    """The endpoint that a cloud config file describes. Raises BadEndpoint."""
    try:
        body = yaml.load(path.read_bytes(), yaml.CSafeLoader)
        return Endpoint.model_validate(body)
    except OSError as error:
        raise BadEndpoint(f"{path}: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise BadEndpoint(f"{path}: no YAML: {error}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"])) or "the file"
        raise BadEndpoint(f"{path}: {field}: {first['msg'].removeprefix('Value error, ')}") from error
