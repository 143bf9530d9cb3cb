from dataclasses import replace

import pytest

from muster_decider import CorruptHistory
from muster_decider.testing import given
from muster_dra.objects.slices import PoolId
from muster_inventory.domain.pool import (
    POOL,
    Flaw,
    Pool,
    PoolChanged,
    PoolGone,
    PoolState,
    RecordPool,
    RecordPoolGone,
)
from muster_types import NodeName

ID = PoolId("gpu.example.com", "node-1")
COMPLETE = Pool(ID, PoolState.COMPLETE, 7, 8, NodeName("node-1"))
HALF = replace(
    COMPLETE, state=PoolState.INCOMPLETE, generation=8, flaw=Flaw("POOL_INCOMPLETE", "1 of 2 slices of generation 8")
)


def test_a_pool_is_told_when_it_changes_and_not_otherwise() -> None:
    given(POOL).when(RecordPool(COMPLETE)).then(PoolChanged(COMPLETE))
    given(POOL, PoolChanged(COMPLETE)).when(RecordPool(COMPLETE)).then_nothing()
    given(POOL, PoolChanged(COMPLETE)).when(RecordPool(HALF)).then(PoolChanged(HALF))


def test_a_pool_is_gone_once() -> None:
    given(POOL, PoolChanged(COMPLETE)).when(RecordPoolGone(ID)).then(PoolGone(ID))
    given(POOL, PoolChanged(COMPLETE), PoolGone(ID)).when(RecordPoolGone(ID)).then_nothing()


def test_a_pool_that_was_never_there_cannot_have_gone() -> None:
    with pytest.raises(CorruptHistory):
        POOL.fold([PoolGone(ID)])
