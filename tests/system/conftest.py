"""Fixtures of the system tests: every service as a process of its own on a real server."""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from muster_eventstore import JetStreamStore
from support.nats_server import store_on
from support.processes import MusterProcesses

MATRIX = "matrix"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{MATRIX}: the whole crash matrix; run it with -m matrix or MUSTER_MATRIX=1")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The matrix takes many minutes: it runs when it is asked for."""
    if os.environ.get("MUSTER_MATRIX") or MATRIX in str(config.getoption("markexpr")):
        return
    left_out = [item for item in items if item.get_closest_marker(MATRIX) is not None]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture
def muster(tmp_path: Path) -> Iterator[MusterProcesses]:
    """Everything up on the example fleet, for one test."""
    with MusterProcesses(tmp_path) as running:
        yield running


@pytest.fixture
async def muster_store(muster: MusterProcesses) -> AsyncIterator[JetStreamStore]:
    """The event store of `muster`."""
    async with store_on(muster.nats.url) as opened:
        yield opened
