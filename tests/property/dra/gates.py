"""Releases, gates and strictness for generated problems."""

import random
from dataclasses import replace

from muster_dra import Features, Meaning, Release


def features(seed: int) -> Features:
    """The gates, release and strictness that go with the seed: mostly the defaults."""
    rng = random.Random(f"features {seed}")
    chosen = rng.choice([Features.v1_37(), Features.v1_37(), Features.v1_36()])
    if rng.random() < 0.5:
        chosen = replace(chosen, list_type_attributes=True)
    if rng.random() < 0.2:
        chosen = replace(chosen, meaning=Meaning.DOCUMENTED)
    if chosen.release is Release.V1_36:
        chosen = replace(chosen, backports=rng.random() < 0.8)
    for gate in (
        "admin_access",
        "prioritized_list",
        "partitionable_devices",
        "device_taints",
        "binding_conditions",
        "consumable_capacity",
    ):
        if rng.random() < 0.012:
            chosen = replace(chosen, **{gate: False})
    return chosen
