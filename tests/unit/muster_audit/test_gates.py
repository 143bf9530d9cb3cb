from muster_audit import Dump
from muster_audit.frames import Frame, frames_of
from muster_audit.gates import features_of
from support.cluster_objects import Json, a_claim, a_device, a_request, a_slice, gpus


def frame(*objects: Json) -> Frame:
    return frames_of([Dump(objects)])[-1]


def test_gates_that_no_object_needs_are_off() -> None:
    features = features_of(frame(a_slice(devices=gpus(1)), a_claim("c")))
    on = (features.list_type_attributes, features.compatibility_groups, features.derived_attributes)
    assert on == (False, False, False)


def test_a_field_of_a_gate_turns_it_on() -> None:
    listed = a_device("a", roots={"strings": ["x"]})
    draw = [{"counterSet": "s", "counters": {}, "compatibilityGroups": ["g"]}]
    assert features_of(frame(a_slice(devices=[listed]))).list_type_attributes
    assert features_of(frame(a_slice(devices=[a_device("a", consumesCounters=draw)]))).compatibility_groups
    derived = a_request(derivedAttributes=[{"name": "x", "expression": "1"}])
    assert features_of(frame(a_claim("c", derived))).derived_attributes
    assert features_of(frame(a_slice(devices=gpus(1), skipNodeOperations=["*"]))).optional_node_operations
