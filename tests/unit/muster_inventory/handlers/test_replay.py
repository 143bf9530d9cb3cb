from dataclasses import replace

import orjson

from muster_dra.objects.slices import PoolId
from muster_inventory.domain.node import NodeGone, NodeReadied, NodeRegistered
from muster_inventory.domain.node_group import Declaration, NodeGroupDeclared, TemplateTrusted
from muster_inventory.domain.pool import Pool, PoolChanged, PoolGone, PoolState
from muster_inventory.handlers.replay import NodeBatch, NodeGroupBatch, PoolBatch, RecordedBatch, replay
from muster_inventory.handlers.subjects import group_subject, node_subject, pool_subject
from muster_types import ClusterId, NodeGroupName, NodeName

HERE, THERE = ClusterId("local"), ClusterId("other.one")
N1, N2, H100 = NodeName("n1"), NodeName("n2.example.com"), NodeGroupName("h100")
DECLARATION = Declaration(H100, 0, 4, 0, 1.5, "simulated", b"null", b'{"kind":"NodeGroup"}')
POOL = Pool(PoolId("gpu", "n1"), PoolState.COMPLETE, 1, 8, N1)
BATCHES: list[RecordedBatch] = [
    NodeGroupBatch(group_subject(HERE, H100), (NodeGroupDeclared(DECLARATION),)),
    NodeBatch(node_subject(HERE, N1), (NodeRegistered(N1, H100), NodeReadied(N1))),
    NodeBatch(node_subject(HERE, N2), (NodeRegistered(N2, None),)),
    NodeBatch(node_subject(THERE, N1), (NodeRegistered(N1, None),)),
    PoolBatch(pool_subject(HERE, POOL.id), (PoolChanged(POOL),)),
    NodeGroupBatch(group_subject(HERE, H100), (TemplateTrusted(H100, N1),)),
]


def test_the_export_says_what_was_decided_for_one_cluster() -> None:
    state = orjson.loads(replay(BATCHES, HERE))
    assert state["nodes"]["n1"]["ready"] is True
    assert set(state["nodes"]) == {"n1", "n2.example.com"}
    assert state["nodeGroups"]["h100"]["trust"] == "trusted"
    assert state["pools"]["gpu/n1"]["devices"] == 8


def test_what_is_gone_leaves_no_trace() -> None:
    gone: list[RecordedBatch] = [
        NodeBatch(node_subject(HERE, N2), (NodeGone(N2, None, None, None),)),
        PoolBatch(pool_subject(HERE, POOL.id), (PoolGone(POOL.id),)),
    ]
    state = orjson.loads(replay([*BATCHES, *gone], HERE))
    assert set(state["nodes"]) == {"n1"}
    assert state["pools"] == {}


def test_equal_states_give_equal_bytes_whichever_way_they_came_about() -> None:
    detour: list[RecordedBatch] = [
        PoolBatch(pool_subject(HERE, POOL.id), (PoolChanged(replace(POOL, device_count=7)),)),
        *BATCHES[::-1][1:],
        BATCHES[-1],
    ]
    assert replay(detour, HERE) == replay(BATCHES, HERE)
