"""Whose lease is whose, on one machine."""

import subprocess
import sys

from muster_servicekit.process_owner import is_gone, own_name


def test_two_names_of_one_process_differ_and_it_is_there() -> None:
    names = {own_name("inventory") for _ in range(2)}
    assert len(names) == 2
    assert not any(map(is_gone, names))


def test_a_process_that_has_ended_is_gone() -> None:
    program = "from muster_servicekit.process_owner import own_name; print(own_name('inventory'))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert is_gone(done.stdout.strip())


def test_nothing_is_known_of_other_machines_containers_and_other_names() -> None:
    parts = own_name("inventory").split("|")
    elsewhere = ["|".join([*parts[:place], "other", *parts[place + 1 :]]) for place in (1, 2, 3)]
    assert not any(map(is_gone, [*elsewhere, "somebody", "", "a|b"]))


def test_another_process_with_the_same_id_is_not_the_holder() -> None:
    parts = own_name("inventory").split("|")
    parts[-2] = "1"
    assert is_gone("|".join(parts))
