from muster_audit import Dump
from muster_audit.frames import frames_of
from muster_audit.memory import Memory
from muster_audit.mending import ghosts_of, inconsistent_pools, mended_slices, one_domain_groups, repaired_groups
from muster_dra import Features, parse_slice
from muster_plan import Snapshot
from support.cluster_objects import GPU, Json, a_claim, a_device, a_group, a_request, a_slice, gpus


def snapshot(*objects: Json) -> Snapshot:
    return Snapshot.build(objects, features=Features.v1_37())


def test_slices_that_disagree_about_their_number_make_none_usable() -> None:
    slices = [a_slice(devices=gpus(1), name="a"), a_slice(devices=[], name="b", count=2)]
    found = inconsistent_pools(snapshot(*slices))
    (pool,) = found.values()
    assert "a declares 1 slice, b declares 2 slices, same generation 1" in pool.sentence()
    mended = mended_slices(frames_of([Dump(tuple(slices))])[-1], snapshot(*slices), found, {})
    assert {parse_slice(each).slice_count for each in mended} == {3}


def test_slices_of_an_older_generation_do_not_count() -> None:
    slices = [a_slice(devices=gpus(1), name="a", count=2), a_slice(devices=gpus(1), name="b", generation=2)]
    assert inconsistent_pools(snapshot(*slices)) == {}


def test_what_an_unpublished_device_draws_is_taken_off_its_counters() -> None:
    draw = [{"counterSet": "s", "counters": {"m": {"value": "2"}}}]
    counters = a_slice(name="c", count=2, sharedCounters=[{"name": "s", "counters": {"m": {"value": "5"}}}])
    objects = [counters, a_slice(name="d", count=2, devices=gpus(1)), a_claim("old", held=["gone"], by="x")]
    (known,) = parse_slice(a_slice(devices=[a_device("gone", consumesCounters=draw)])).devices
    seen = snapshot(*objects)
    (ghost,) = ghosts_of(seen, Memory()).values()
    ghosts = ghosts_of(seen, Memory(devices={ghost.device: known}))
    (mended,) = mended_slices(frames_of([Dump(tuple(objects))])[-1], seen, {}, ghosts)
    assert parse_slice(mended).counter_sets[0].counters["m"] == 3 * 10**9


def test_admin_access_leaves_no_ghost() -> None:
    watch = a_claim("w", a_request(adminAccess=True), held=["gone"], by="x", adminAccess=True)
    assert ghosts_of(snapshot(watch), Memory()) == {}


def test_a_wrong_count_in_a_template_is_mended_and_told() -> None:
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 3}
    group = a_group("g", slices=[{"driver": GPU, "pool": pool, "devices": gpus(1)}])
    repaired = repaired_groups(frames_of([Dump((group,))])[-1])["g"]
    assert repaired.fault == (
        "spec.template.resourceSlices[0].pool.resourceSliceCount is 3, the template has 1 slice of that pool"
    )
    assert repaired_groups(frames_of([Dump((a_group("g", gpus(1)),))])[-1]) == {}


def test_nodes_of_a_group_without_units_share_the_domain_of_the_template() -> None:
    (group,) = one_domain_groups(
        [a_group("g", gpus(1), domainLabel="rack"), a_group("u", atomicUnit=2, domainLabel="r")]
    )
    assert "domainLabel" not in group["spec"]  # pyright: ignore[reportOperatorIssue] -- a map
