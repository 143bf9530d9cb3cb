"""The in-memory adapter keeps the contract of the port."""

import pytest

from muster_eventstore import MemoryServer, MemoryStore
from muster_eventstore.testing import EventStoreContract
from support.nats_server import now


class TestMemoryStore(EventStoreContract):
    @pytest.fixture
    def store(self) -> MemoryStore:
        return MemoryStore(MemoryServer(now))
