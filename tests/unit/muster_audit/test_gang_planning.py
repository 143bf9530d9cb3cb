from muster_audit.gang_planning import Members, Planning, booking_of, domain_keys, domains_of, without_topology
from muster_audit.gangs import Subject, pod_group_subjects
from muster_plan import NoPlan, Plan
from support.audits import scene_of
from support.cluster_objects import Json, a_class, a_gang, a_group, a_node, a_pod, a_running, a_slice, a_template, gpus


def parts(*objects: Json, key: str = "rack", count: int = 2) -> tuple[Subject, Planning]:
    pods = [a_pod(f"w{index}", template="one", gang="ring") for index in range(count)]
    gang = [a_template("one"), a_gang("ring", count, key=key), *pods]
    scene, classes = scene_of(*fleet(), *gang, *objects)
    (subject,) = pod_group_subjects(classes, scene.cluster)
    assert isinstance(subject, Subject)
    return subject, Planning.of(scene, scene.now.careful)


def fleet() -> list[Json]:
    nodes = [a_node(f"n{index}", labels={"rack": f"r{index // 2}"}) for index in range(4)]
    return [a_class(), *nodes, *(a_slice(f"n{index}", gpus(1)) for index in range(4))]


def test_a_gang_is_asked_of_what_exists_and_of_what_could() -> None:
    subject, planning = parts(a_group("g", gpus(3), labels={"rack": "r9"}), count=3)
    assert isinstance(planning.now(subject.gang), NoPlan)
    assert isinstance(planning.later(subject.gang), Plan)


def test_some_nodes_alone_can_be_asked() -> None:
    subject, planning = parts()
    some = planning.among(frozenset({planning.surveyor.fleet.nodes[0].name}))
    assert isinstance(planning.now(subject.gang), Plan)
    assert isinstance(some.now(subject.gang), NoPlan)


def test_what_would_fit_if_nobody_held_anything() -> None:
    held = [each for index in range(4) for each in a_running(f"r{index}", "gpu-0", node=f"n{index}")]
    subject, planning = parts(*held)
    assert isinstance(planning.now(subject.gang), NoPlan)
    assert planning.empty(subject.gang)


def test_bookings_take_their_room_from_the_next_gang() -> None:
    subject, planning = parts(key="", count=3)
    found = planning.now(subject.gang)
    assert isinstance(found, Plan)
    after = Planning.of(planning.scene, planning.surveyor, [booking_of(subject.gang, found)])
    assert isinstance(after.now(subject.gang), NoPlan)


def test_members_are_seated_one_by_one_in_all_or_some_places() -> None:
    subject, planning = parts(count=3)
    members = Members.of(subject, planning)
    assert members.seats(planning, frozenset({0, 1})) == [0, 1]
    assert members.seated(planning) == 3
    assert members.alone(0)


def test_domains_are_the_values_of_a_label() -> None:
    subject, planning = parts()
    assert domain_keys(subject.gang) == ("rack",)
    assert domain_keys(without_topology(subject.gang)) == ()
    assert domains_of("rack", planning.surveyor.fleet) == {"r0": frozenset({0, 1}), "r1": frozenset({2, 3})}
