"""Whatever a manifest holds, it is migrated, named or left alone; it never ends the command."""

from collections.abc import Mapping
from typing import cast

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muster_migrate import Evidence, apply_edits, check_migration, migrate_extended, migrate_objects
from muster_migrate.kinds import POD_PLACES, WITHOUT_CLAIMS
from muster_plan import Snapshot
from property.migrate.fleets import CLASSES, NVIDIA, NodeShape, pods

Json = Mapping[str, object]
some = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
FLEET = [*CLASSES, *NodeShape("n", NVIDIA, ("NVIDIA L4",) * 2, (), "a", 16).objects()]
EVIDENCE = Evidence.of(Snapshot.build(FLEET))
junk = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 40)
    | st.floats(allow_nan=False)
    | st.sampled_from(("", "x", "1", "Always")),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(("name", "limits", "spec", "a")), inner)
    ),
    max_leaves=4,
)


@st.composite
def spoiled(draw: st.DrawFn) -> Json:
    """A pod, or an object of any known kind around it, with one value replaced by something else."""
    pod = draw(pods())
    group, kind = draw(st.sampled_from(sorted({*POD_PLACES, *WITHOUT_CLAIMS})))
    whole: object = {"metadata": pod["metadata"], "spec": pod["spec"]}
    for step in reversed(next(iter(POD_PLACES.get((group, kind), ("spec.template",)))).split(".")):
        whole = (
            ({"x": whole} if draw(st.booleans()) else [whole]) if step == "*" else ({step: whole} if step else whole)
        )
    version = f"{group}/v1" if group else "v1"
    obj = {"apiVersion": version, "kind": kind, "metadata": {"name": "o"}, **cast("dict[str, object]", whole)}
    place: object = obj
    path: list[str | int] = []
    while isinstance(place, dict | list) and place and draw(st.integers(0, 9)):
        keys = (
            sorted(cast("dict[str, object]", place))
            if isinstance(place, dict)
            else range(len(cast("list[object]", place)))
        )
        step = draw(st.sampled_from(keys))
        path.append(step)
        place = cast("dict[str | int, object]", place)[step]
    return _with(obj, path, draw(junk)) if len(path) > 1 else obj


def _with(obj: object, path: list[str | int], value: object) -> Json:
    """A copy with one value replaced."""
    whole = apply_edits(cast("Json", obj), ())
    place: object = whole
    for step in path[:-1]:
        place = cast("dict[str | int, object]", place)[step]
    cast("dict[str | int, object]", place)[path[-1]] = value
    return whole


@some
@given(spoiled())
def test_no_manifest_ends_a_migration(obj: Json) -> None:
    for evidence in (Evidence.none(), EVIDENCE):
        migration = migrate_objects([obj], evidence, classes=True)
        check_migration(migration, evidence)
        again = migrate_objects([migration.objects[0].result], evidence)
        assert not again.objects[0].edits
    check_migration(migrate_extended([obj], EVIDENCE), EVIDENCE)
