"""Why Karpenter deleted a claim: the claim itself does not say, only an event does (group-capacity §6.3)."""

from typing import cast

import orjson
import structlog

from muster_kubeapi import Json, KubeClient, Refused
from muster_provisioner.adapters.karpenter.claims import Claim
from muster_provisioner.adapters.karpenter.group_settings import NodeClassRef
from muster_provisioner.adapters.karpenter.node_class import NodeClasses
from muster_provisioner.adapters.kube_calls import at, items, shortfall_class, text
from muster_provisioner.domain.group import Failure
from muster_provisioner.domain.messages import ShortfallClass

log = structlog.get_logger("muster.karpenter")

_STOCKOUT = "InsufficientCapacityError"
_NOT_READY = "NodeClassNotReady"


class Reasons:
    """Reasons of failed claims, found out once for each."""

    def __init__(self, client: KubeClient, classes: NodeClasses) -> None:
        self._client = client
        self._classes = classes
        self._known: dict[str, Failure] = {}

    async def of(self, claim: Claim, ref: NodeClassRef) -> Failure:
        """Why a claim failed. An event of Karpenter's decides; without one, a class that is not ready, a timeout of
        Karpenter's own, and else what is left: nothing was in stock. Raises KubeError."""
        known = self._known.get(claim.uid)
        if known is None:
            known = self._known[claim.uid] = await self._find(claim, ref)
        return known

    def keep_only(self, uids: set[str]) -> None:
        """Forget claims that are gone."""
        self._known = {uid: failure for uid, failure in self._known.items() if uid in uids}

    async def _find(self, claim: Claim, ref: NodeClassRef) -> Failure:
        for event in await self._events(claim):
            reason, message = text(event.get("reason")), text(event.get("message"))
            if reason == _STOCKOUT:
                kind = shortfall_class(message)
                kind = ShortfallClass.STOCKOUT if kind is ShortfallClass.OTHER else kind
                return Failure(kind, f"{claim.name}: {message or reason}")
            if reason == _NOT_READY:
                return Failure(ShortfallClass.OTHER, f"{claim.name}: {message or reason}")
        launched = claim.conditions.get("Launched")
        if launched is not None and launched.holds:
            return Failure(ShortfallClass.TIMEOUT, f"{claim.name}: launched, but its node did not join the cluster")
        problem = await self._classes.problem(ref)
        if problem is not None:
            return Failure(ShortfallClass.OTHER, f"{claim.name}: deleted before launch: {problem}")
        if launched is not None and launched.status == "False":
            kind = shortfall_class(launched.text)
            return Failure(kind, f"{claim.name}: deleted before launch: {launched.text}")
        return Failure(ShortfallClass.STOCKOUT, f"{claim.name}: deleted before launch, as Karpenter does out of stock")

    async def _events(self, claim: Claim) -> list[Json]:
        """Events about a claim; none when they may not be read."""
        selector = f"involvedObject.kind=NodeClaim,involvedObject.uid={claim.uid}"
        try:
            body = await self._client.call("GET", "/api/v1/events", {"fieldSelector": selector, "limit": "50"})
            parsed: object = orjson.loads(body)
        except (Refused, orjson.JSONDecodeError) as error:
            log.warning(
                "events are not readable, the reason of a failure is a guess", claim=claim.name, error=str(error)
            )
            return []
        listed = items(cast("Json", parsed).get("items")) if isinstance(parsed, dict) else ()
        return [each for each in listed if at(each, "involvedObject").get("uid") == claim.uid]
