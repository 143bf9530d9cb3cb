"""Streams as data: read the file, compare with what the server has, create or update."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from importlib.resources import files
from pathlib import Path

import yaml
from nats.aio.client import Client
from nats.js import api
from nats.js.errors import NotFoundError
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from muster_eventstore.errors import PermanentError
from muster_eventstore.patience import patiently


class StreamSpec(BaseModel):
    """One stream of the file; times in seconds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[A-Za-z0-9_-]+$")
    description: str
    subjects: tuple[str, ...] = Field(min_length=1)
    retention: api.RetentionPolicy = api.RetentionPolicy.LIMITS
    discard: api.DiscardPolicy = api.DiscardPolicy.OLD
    max_msgs_per_subject: int = -1
    duplicate_window: float = 120
    allow_msg_ttl: bool = False
    allow_msg_schedules: bool = False
    allow_atomic: bool = False
    allow_rollup_hdrs: bool = False
    deny_delete: bool = False
    subject_delete_marker_ttl: float = 0


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    streams: tuple[StreamSpec, ...]


class Change(Enum):
    """What applying did to a stream."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class AppliedStream:
    """A stream after applying, and the fields that differed before."""

    name: str
    change: Change
    fields: tuple[str, ...] = ()


def load_specs(path: Path | None = None) -> tuple[StreamSpec, ...]:
    """The streams of a file; without one, those that the package ships. PermanentError names the file and field."""
    name = "muster_eventstore/streams.yaml" if path is None else str(path)
    try:
        text = (files("muster_eventstore") / "streams.yaml").read_text() if path is None else path.read_text()
        return _File.model_validate(yaml.load(text, Loader=yaml.CSafeLoader)).streams
    except (OSError, yaml.YAMLError, ValidationError) as error:
        raise PermanentError("BAD_STREAMS_FILE", f"{name}: {error}") from error


async def apply_streams(
    client: Client, specs: Sequence[StreamSpec] | None = None, *, replicas: int = 1
) -> list[AppliedStream]:
    """Create what is missing and update what differs; applying again changes nothing. Other streams are left alone."""
    wanted = load_specs() if specs is None else specs
    return list(await asyncio.gather(*(_apply(client, spec, replicas) for spec in wanted)))


async def _apply(client: Client, spec: StreamSpec, replicas: int) -> AppliedStream:
    js = client.jetstream()
    wanted = _config(spec, replicas)
    try:
        found = await _found(client, spec.name)
        if found is None:
            await patiently(client, f"stream {spec.name!r}", lambda: js.add_stream(wanted))
            return AppliedStream(spec.name, Change.CREATED)
        differing = _differing(wanted, found)
        if not differing:
            return AppliedStream(spec.name, Change.UNCHANGED)
        await patiently(client, f"stream {spec.name!r}", lambda: js.update_stream(wanted))
        return AppliedStream(spec.name, Change.UPDATED, differing)
    except PermanentError as error:
        raise PermanentError(
            error.reason, f"{error.detail}; the stream could not be brought to its file's form"
        ) from error


async def _found(client: Client, name: str) -> api.StreamConfig | None:
    """The server's form of a stream, None when it has none."""
    js = client.jetstream()

    async def info() -> api.StreamConfig | None:
        try:
            return (await js.stream_info(name)).config
        except NotFoundError:
            return None

    return await patiently(client, f"stream {name!r}", info)


def _config(spec: StreamSpec, replicas: int) -> api.StreamConfig:
    return api.StreamConfig(
        name=spec.name,
        description=spec.description,
        subjects=list(spec.subjects),
        retention=spec.retention,
        discard=spec.discard,
        max_msgs_per_subject=spec.max_msgs_per_subject,
        duplicate_window=spec.duplicate_window,
        storage=api.StorageType.FILE,
        num_replicas=replicas,
        allow_msg_ttl=spec.allow_msg_ttl,
        allow_msg_schedules=spec.allow_msg_schedules,
        allow_atomic=spec.allow_atomic,
        allow_rollup_hdrs=spec.allow_rollup_hdrs or spec.allow_msg_schedules,
        deny_delete=spec.deny_delete,
        allow_direct=False,
        subject_delete_marker_ttl=spec.subject_delete_marker_ttl or None,
    )


def _differing(wanted: api.StreamConfig, found: api.StreamConfig) -> tuple[str, ...]:
    """Names of the managed fields whose value on the server is another one; absent and false are the same there."""
    ours: Mapping[str, object] = wanted.as_dict()
    theirs: Mapping[str, object] = found.as_dict()
    return tuple(sorted(name for name, value in ours.items() if (value or None) != (theirs.get(name) or None)))
