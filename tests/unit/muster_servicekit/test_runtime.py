"""A service as a process: start, supervision, stop, exit status."""

import asyncio
import os
import signal
import subprocess
import sys

import pytest

from muster_eventstore import TransientError
from muster_servicekit.runtime import OnCrash, Runtime, run_service

SCRIPT = """
import asyncio, os, sys
from muster_eventstore import TransientError
from muster_servicekit.runtime import Runtime, run_service
from muster_servicekit.telemetry import set_up_logging

set_up_logging('demo')

async def build(runtime):
    async def quiet(): await asyncio.Event().wait()
    async def crash(): raise {error}
    async def ready(): print("ready", flush=True)
    async def closed(): print("closed", flush=True)
    runtime.stack.push_async_callback(closed)
    runtime.supervise("quiet", quiet)
    if {crash}: runtime.supervise("crash", crash)
    runtime.on_ready(ready)

sys.exit(run_service("demo", build))
"""


def run_script(*, crash: bool, error: str = "ValueError('bug')") -> "subprocess.Popen[str]":
    code = SCRIPT.format(crash=crash, error=error)
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_in_order_with_status_0(sign: signal.Signals) -> None:
    process = run_script(crash=False)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    os.kill(process.pid, sign)
    out, _ = process.communicate(timeout=10)
    assert out == "closed\n"
    assert process.returncode == 0


def test_a_crashed_task_ends_the_process_with_status_1_and_its_reason() -> None:
    process = run_script(crash=True)
    out, err = process.communicate(timeout=10)
    assert process.returncode == 1
    assert "demo ended: crash: ValueError: bug" in err.splitlines()[-1]
    assert out.endswith("closed\n")


def test_a_service_that_cannot_start_says_why_in_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    closed: list[str] = []

    async def build(runtime: Runtime) -> None:
        async def close() -> None:
            closed.append("closed")

        runtime.stack.push_async_callback(close)
        raise TransientError("no NATS server answers at nats://x:1")

    assert run_service("demo", build) == 1
    assert capfd.readouterr().err == "demo cannot start: no NATS server answers at nats://x:1\n"
    assert closed == ["closed"]


async def test_the_order_of_a_stop_is_health_then_work_then_resources() -> None:
    order: list[str] = []
    runtime = Runtime("demo", grace=5)
    drain = asyncio.Event()

    def note(name: str):  # noqa: ANN202 -- a coroutine function for the runtime
        async def call() -> None:
            order.append(name)

        return call

    async def worker() -> None:
        order.append("worker starts")
        await drain.wait()
        order.append("worker drained")

    async def stop_worker() -> None:
        order.append("worker is asked")
        drain.set()

    async def reader() -> None:
        order.append("reader starts")
        try:
            await asyncio.Event().wait()
        finally:
            order.append("reader cancelled")

    async def ready() -> None:
        await asyncio.sleep(0)
        order.append("ready")
        runtime.request_stop()

    runtime.stack.push_async_callback(note("closed"))
    runtime.supervise("worker", worker, stop=stop_worker)
    runtime.supervise("reader", reader)
    runtime.on_ready(ready)
    runtime.on_stop(note("not serving"))
    await runtime.run()
    assert runtime.failure is None
    assert order[:3] == ["worker starts", "reader starts", "ready"]
    assert order[3] == "not serving"
    assert sorted(order[4:7]) == ["reader cancelled", "worker drained", "worker is asked"]
    assert order[7:] == ["closed"]


async def test_a_task_that_does_not_finish_in_its_grace_is_cancelled() -> None:
    runtime = Runtime("demo", grace=0.05)
    cancelled = asyncio.Event()

    async def stubborn() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async def ask() -> None: ...

    async def ready() -> None:
        await asyncio.sleep(0)
        runtime.request_stop()

    runtime.supervise("stubborn", stubborn, stop=ask)
    runtime.on_ready(ready)
    await runtime.run()
    assert cancelled.is_set()


async def test_a_task_that_may_restart_does_and_the_process_stays() -> None:
    runtime = Runtime("demo")
    attempts = 0

    async def flaky() -> None:
        nonlocal attempts
        attempts += 1
        if attempts == 1:
            raise TransientError("away")
        runtime.request_stop()

    runtime.supervise("flaky", flaky, on_crash=OnCrash.RESTART)
    await runtime.run()
    assert attempts == 2
    assert runtime.failure is None


async def test_a_task_that_ends_by_itself_ends_the_process() -> None:
    runtime = Runtime("demo")

    async def short() -> None: ...

    runtime.supervise("short", short)
    await runtime.run()
    assert runtime.failure == "short: ended by itself"
