"""Facts in bulk: JetStream's atomic batches, one commit for hundreds of messages instead of one each.

A batch costs three disk flushes whatever its size, so it pays from a handful of messages on; nats-py does not wrap it.
"""

import json
from collections.abc import Sequence

from nats.aio.client import Client
from nats.js.api import PubAck
from nats.js.errors import APIError

from muster_eventstore.envelope import MSG_ID, to_headers
from muster_eventstore.patience import patiently
from muster_eventstore.port import Draft

_MOST = 500  # messages a batch; the server takes 1,000
_FLOW = 100  # messages between two round trips, so that the write buffer stays small


async def publish_all(client: Client, drafts: Sequence[Draft], patience: float) -> int:
    """Store `drafts` in order, each 500 atomically; the sequence of the last, 0 without drafts."""
    sequence = 0
    for start in range(0, len(drafts), _MOST):
        batch = drafts[start : start + _MOST]
        sequence = await patiently(client, batch[0].subject, lambda batch=batch: _commit(client, batch, patience))
    return sequence


async def _commit(client: Client, batch: Sequence[Draft], patience: float) -> int:
    batch_id = client.new_inbox().rsplit(".", 1)[-1]
    for index, draft in enumerate(batch, 1):
        headers = {name: value for name, value in to_headers(draft.meta).items() if name != MSG_ID}
        headers |= {"Nats-Batch-Id": batch_id, "Nats-Batch-Sequence": str(index)}
        if index == len(batch):
            headers["Nats-Batch-Commit"] = "1"
        if index in (1, len(batch)) or index % _FLOW == 0:
            answer = await client.request(draft.subject, draft.payload, timeout=patience, headers=headers)
            if answer.data:
                return _acknowledged(answer.data)
        else:
            await client.publish(draft.subject, draft.payload, headers=headers)
    raise AssertionError("the last message of a batch is answered with an acknowledgement or an error")


def _acknowledged(data: bytes) -> int:
    answer = json.loads(data)
    if "error" in answer:
        raise APIError.from_error(answer["error"])
    return PubAck.from_response(answer).seq
