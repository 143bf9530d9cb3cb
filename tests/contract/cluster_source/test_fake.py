"""The fake keeps the contract."""

from collections.abc import Mapping

import pytest

from contract.cluster_source.fake import FakeSource
from contract.cluster_source.suite import ClusterSourceContract
from muster_types import ObjectKey


class FakeWorld:
    def __init__(self) -> None:
        self.source = FakeSource()

    def put(self, obj: Mapping[str, object]) -> None:
        self.source.put(obj)

    def remove(self, key: ObjectKey) -> None:
        self.source.remove(key)

    def spoil(self, id: str) -> None:
        self.source.spoil(id)

    def mend(self, id: str) -> None:
        self.source.mend(id)


class TestFakeSource(ClusterSourceContract):
    @pytest.fixture
    def world(self) -> FakeWorld:
        return FakeWorld()
