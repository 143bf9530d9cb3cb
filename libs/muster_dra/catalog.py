"""An immutable view of slices and classes, indexed by node, with everything compiled that claims share."""

from collections.abc import Iterable, Mapping, Sequence

from muster_dra.compiled import compile_claims
from muster_dra.features import Features
from muster_dra.index import SliceIndex
from muster_dra.objects.claims import ClaimSpec, ResourceClaim
from muster_dra.objects.classes import DeviceClass, DeviceTaintRule
from muster_dra.objects.nodes import Node
from muster_dra.objects.slices import Device, PoolId, ResourceSlice
from muster_dra.outcome import Fatal
from muster_dra.plan import PlanTable
from muster_dra.pools import Pool, UnreadableSelector, gather_pools, with_former
from muster_dra.shapes import ShapeTable
from muster_dra.taint_rules import with_taint_rules
from muster_dra.views import NodeView, node_view
from muster_types import NodeName

DEFAULT_FEATURES = Features.v1_37()
_REMEMBERED_CLAIMS = 256


class Catalog:
    """What is published in a cluster. `with_slices` gives a changed one; what did not change is shared.

    It remembers what it worked out for nodes and claims; nothing of that can be seen but the time it saves.
    """

    __slots__ = ("_claims", "_former", "_shapes", "_views", "classes", "features", "index", "taint_rules")

    def __init__(
        self,
        index: SliceIndex,
        classes: Mapping[str, DeviceClass],
        taint_rules: tuple[DeviceTaintRule, ...],
        features: Features,
        shapes: ShapeTable,
        claims: "dict[tuple[int, ...], tuple[tuple[ClaimSpec, ...], PlanTable | Fatal]]",
    ) -> None:
        self.index, self.classes, self.taint_rules, self.features = index, classes, taint_rules, features
        self._shapes, self._claims = shapes, claims
        self._views: dict[NodeName, tuple[Node, NodeView | UnreadableSelector]] = {}
        self._former: dict[PoolId, dict[str, Device]] = {}

    @classmethod
    def build(
        cls,
        slices: Iterable[ResourceSlice],
        classes: Iterable[DeviceClass],
        *,
        taint_rules: Sequence[DeviceTaintRule] = (),
        features: Features = DEFAULT_FEATURES,
    ) -> "Catalog":
        rules = tuple(taint_rules)
        index = SliceIndex.build((with_taint_rules(slice_, rules, features) for slice_ in slices), features)
        return cls(index, {each.name: each for each in classes}, rules, features, ShapeTable(features), {})

    def with_slices(self, put: Iterable[ResourceSlice], gone: Iterable[str] = ()) -> "Catalog":
        """With slices added or replaced by name, and without those named in `gone`; the work of other nodes is kept.

        In documented meaning it remembers partitions that are published no more: while they are allocated, they still
        draw their counters (upstream forgets them, #140802).
        """
        put, gone = list(put), list(gone)
        tainted = [with_taint_rules(slice_, self.taint_rules, self.features) for slice_ in put]
        changed = Catalog(
            self.index.changed(tainted, gone), self.classes, self.taint_rules, self.features, self._shapes, self._claims
        )
        changed._former = self._former_after(tainted, gone) if self.features.strict else {}
        touched = [
            nodes
            for name in (*(slice_.name for slice_ in tainted), *gone)
            for index in (self.index, changed.index)
            for slice_ in index.named(name)
            for nodes in (index.nodes_of(slice_),)
        ]
        if None not in touched:
            stale = {name for names in touched if names is not None for name in names}
            changed._views = {name: view for name, view in self._views.items() if name not in stale}
        return changed

    def _former_after(self, put: Sequence[ResourceSlice], gone: Sequence[str]) -> dict[PoolId, dict[str, Device]]:
        former = dict(self._former)
        for name in (*(slice_.name for slice_ in put), *gone):
            for slice_ in self.index.named(name):
                drawing = {device.name: device for device in slice_.devices if device.consumes}
                if drawing:
                    former[slice_.pool] = former.get(slice_.pool, {}) | drawing
        return former

    def pools_of(self, node: Node) -> tuple[Pool, ...] | UnreadableSelector:
        """Every pool with a slice for the node, in search order, unusable ones with their reason, dropped ones last."""
        pools = gather_pools(node, self.index.candidates(node), self.index.of_pool, self.features)
        if not self._former or isinstance(pools, UnreadableSelector):
            return pools
        return tuple(with_former(pool, self._former.get(pool.id, {})) for pool in pools)

    def view(self, node: Node) -> NodeView | UnreadableSelector:
        """The node with its pools ready for any claim, remembered by name as long as the node is the same."""
        known = self._views.get(node.name)
        if known is not None and (known[0] is node or known[0] == node):
            return known[1]
        pools = self.pools_of(node)
        view = pools if isinstance(pools, UnreadableSelector) else node_view(node, pools, self._shapes)
        self._views[node.name] = (node, view)
        return view

    def plans(self, claims: Sequence[ResourceClaim]) -> PlanTable | Fatal:
        """The claims compiled, remembered by the identity of their specs."""
        key = tuple([id(claim.spec) for claim in claims])
        known = self._claims.get(key)
        if known is None:
            compiled = compile_claims(claims, self.classes, self.features)
            table = compiled if isinstance(compiled, Fatal) else PlanTable(compiled)
            if len(self._claims) >= _REMEMBERED_CLAIMS:
                del self._claims[next(iter(self._claims))]
            known = self._claims[key] = (tuple(claim.spec for claim in claims), table)
        return known[1]
