"""Logs without secrets, metrics over HTTP, trace context."""

import asyncio
import json
import urllib.request

import pytest
import structlog
from prometheus_client import Counter

from muster_servicekit.telemetry import (
    current_traceparent,
    mask_secrets,
    serve_metrics,
    set_up_logging,
    set_up_tracing,
    span,
)


@pytest.fixture(autouse=True)
def _restore() -> None:
    structlog.contextvars.clear_contextvars()
    yield
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()


def test_a_json_line_has_service_level_time_and_fields(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logging("inventory", format="json", level="info")
    structlog.get_logger("x").info("hello", count=3)
    structlog.get_logger("x").debug("too quiet")
    captured = capsys.readouterr()
    (line,) = captured.err.splitlines()
    assert captured.out == ""
    fields = json.loads(line)
    assert fields.pop("timestamp").endswith("Z")
    assert fields == {"event": "hello", "count": 3, "level": "info", "service": "inventory"}


@pytest.mark.parametrize("format", ["json", "console"])
def test_a_logged_bug_shows_no_local_values(format: str, capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logging("inventory", format=format)
    hidden = "hunter" + "2"
    try:
        raise ValueError(len(hidden))
    except ValueError as error:
        structlog.get_logger("x").error("bug", exc_info=error)
    shown = capsys.readouterr().err
    assert "ValueError" in shown
    assert hidden not in shown


def test_what_looks_like_a_secret_is_masked() -> None:
    event = {
        "password": "x",
        "api_key": "x",
        "Authorization": "x",
        "fencing_token": 7,
        "url": "nats://me:hunter2@host:4222",
        "event": "plain",
    }
    assert mask_secrets(None, "", event) == {
        "password": "***",
        "api_key": "***",
        "Authorization": "***",
        "fencing_token": 7,
        "url": "nats://me:***@host:4222",
        "event": "plain",
    }


def test_metrics_are_served() -> None:
    Counter("muster_test_things", "Things.").inc(3)
    server = serve_metrics(0)
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/metrics", timeout=5) as answer:
            assert b"muster_test_things_total 3.0" in answer.read()
    finally:
        server.shutdown()
        server.server_close()


async def test_the_trace_context_belongs_to_a_task_and_what_it_starts() -> None:
    set_up_tracing("test")

    async def inner() -> str:
        return current_traceparent()

    async def request(traceparent: str) -> str:
        with span("call", traceparent):
            return await asyncio.create_task(inner())

    traces = [f"{number:032x}" for number in (1, 2, 3)]
    seen = await asyncio.gather(*(request(f"00-{each}-00000000000000ab-01") for each in traces))
    assert [each.split("-")[1] for each in seen] == traces
    assert all(each.split("-")[2] != "00000000000000ab" for each in seen)
    assert (await request("nonsense")).split("-")[1] not in traces
    assert current_traceparent() == ""
