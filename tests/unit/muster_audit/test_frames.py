from muster_audit.frames import Dump, frames_of
from support.cluster_objects import Json, a_claim, a_class, a_node, a_pod, a_slice, at_step, gpus


def names(*dumps: list[Json]) -> list[tuple[str, list[str]]]:
    frames = frames_of([Dump(tuple(each)) for each in dumps])
    return [(frame.label, [key.name for key in frame.objects]) for frame in frames]


def test_a_dump_without_steps_is_one_moment_without_a_label() -> None:
    assert names([a_node(), a_pod("p")]) == [("", ["node-a", "p"])]


def test_steps_add_change_and_delete_in_their_order() -> None:
    later = [at_step(2, "DELETED", a_pod("p")), at_step(1, "ADDED", a_pod("q"))]
    assert names([a_node(), a_pod("p"), *later]) == [
        ("step 0", ["node-a", "p"]),
        ("step 1", ["node-a", "p", "q"]),
        ("step 2", ["node-a", "q"]),
    ]


def test_what_a_later_dump_lacks_is_gone() -> None:
    first, second = [a_node(), a_slice(devices=gpus(1))], [a_node()]
    assert names(first, second)[1] == ("dump 2", ["node-a"])


def test_a_later_dump_of_some_kinds_leaves_the_others() -> None:
    assert names([a_node(), a_class()], [a_claim("c")])[1][1] == ["node-a", "gpu.example.com", "c"]


def test_a_dump_of_events_alone_goes_on_from_the_one_before() -> None:
    told = names([a_node(), a_pod("p")], [at_step(1, "DELETED", a_pod("p"))])
    assert told[-1] == ("dump 2, step 1", ["node-a"])


def test_a_step_that_is_no_number_is_the_start() -> None:
    odd = a_pod("p", annotations={"input.example.com/step": "first"})
    assert names([odd]) == [("", ["p"])]


def test_refusals_stay_with_every_moment_of_their_dump() -> None:
    frames = frames_of([Dump((a_node(), at_step(1, "ADDED", a_pod("p"))))])
    assert [frame.refused for frame in frames] == [(), ()]
    assert [key.kind for key, _ in frames[1].of_kind("Pod")] == ["Pod"]
