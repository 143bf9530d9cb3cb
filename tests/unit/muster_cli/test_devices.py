"""Device names in little room, without saying what is not so."""

from muster_cli.live.devices import devices_line, folded


def test_a_run_of_three_or_more_is_folded_and_a_gap_ends_it() -> None:
    assert folded(["gpu-7", "gpu-0", "gpu-1", "gpu-2", "gpu-5", "gpu-6"]) == ["gpu-0…2", "gpu-5…7"]


def test_numbers_are_ordered_as_numbers() -> None:
    assert folded([f"gpu-{i}" for i in (10, 9, 8)]) == ["gpu-8…10"]


def test_names_without_numbers_and_pairs_stay_as_they_are() -> None:
    assert folded(["rdma", "eth", "gpu-1", "gpu-0", "nic-1"]) == ["eth", "gpu-0", "gpu-1", "nic-1", "rdma"]


def test_drivers_come_in_order() -> None:
    assert devices_line({"b": ["x-0"], "a": ["y-0", "y-1", "y-2"]}) == "a: y-0…2  b: x-0"
