"""NodeClaims in an API server: every write may be repeated, and says what it found."""

from muster_kubeapi import (
    Conflict,
    Json,
    KubeClient,
    Missing,
    Target,
    Unreachable,
    create,
    delete,
    get,
    list_pages,
    patch,
)
from muster_provisioner.adapters.karpenter.claims import CREATING, FINALIZER, NODE_CLAIMS, NODE_GROUP, Claim, read_claim
from muster_provisioner.adapters.kube_calls import at, text
from muster_types import NodeGroupName, OrderId

_ATTEMPTS = 5


class NameTaken(Exception):
    """Somebody else has a claim of the name that an order needs; the message says which."""


class ClaimStore:
    """The claims of one cluster. Methods raise KubeError."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client

    async def of(self, group: NodeGroupName) -> tuple[Claim, ...]:
        """The claims of a group, by name."""
        selector = f"{NODE_GROUP}={group}"
        found: dict[str, Claim] = {}
        async for page in list_pages(self._client, NODE_CLAIMS, label_selector=selector):
            if page.first:
                found.clear()
            for claim in map(read_claim, page.items):
                found[claim.name] = claim
        return tuple(found[name] for name in sorted(found))

    async def create(self, body: Json, order: OrderId) -> None:
        """Create a claim of an order unless it is there, whatever became of it since. Raises NameTaken."""
        name = text(at(body, "metadata").get("name"))
        for _ in range(_ATTEMPTS):
            if not isinstance(await create(self._client, NODE_CLAIMS, "", body), Conflict):
                return
            found = await get(self._client, _target(name))
            if found is None:
                continue  # gone between the two calls
            if read_claim(found).order != order:
                raise NameTaken(f"NodeClaim {name} exists and is not of order {order}; delete it")
            return
        raise Unreachable(f"NodeClaim {name} comes and goes; try again")

    async def note_creating(self, first: Claim, size: int) -> None:
        """Write on the first claim of an order how many claims it will have; 0: no more will be created."""
        change = {"metadata": {"annotations": {CREATING: str(size) if size else None}}}
        await patch(self._client, _target(first.name), change)

    async def give_up(self, claim: Claim) -> None:
        """Delete a claim; its machine is terminated by Karpenter's own finalizer."""
        if not claim.deleting:
            await delete(self._client, _target(claim.name), uid=claim.uid)
        if claim.ours:
            await self.release(claim)

    async def release(self, claim: Claim) -> None:
        """Take our finalizer from a claim that is being deleted, so that it can go."""
        for _ in range(_ATTEMPTS):
            found = await get(self._client, _target(claim.name))
            if found is None or text(at(found, "metadata").get("uid")) != claim.uid or not read_claim(found).ours:
                return
            held = at(found, "metadata").get("finalizers")
            kept = [each for each in (held if isinstance(held, list) else []) if each != FINALIZER]
            version = at(found, "metadata").get("resourceVersion")
            change = {"metadata": {"resourceVersion": version, "finalizers": kept}}
            if not isinstance(await patch(self._client, _target(claim.name), change), Conflict | Missing):
                return
        raise Unreachable(f"NodeClaim {claim.name}: other writers were faster {_ATTEMPTS} times")


def _target(name: str) -> Target:
    return Target(NODE_CLAIMS, "", name)
