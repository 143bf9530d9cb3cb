"""The JetStream adapter keeps the contract of the port, on a real server."""

from muster_eventstore.testing import EventStoreContract


class TestJetStreamStore(EventStoreContract):
    """Fixture `store` of tests/conftest.py: empty streams on a real server."""
