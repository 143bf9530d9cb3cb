"""Which differences from a template make a node another one, whatever allocation says about it."""

from collections.abc import Iterable

from muster_gang_coordinator.domain.plans import ShapeMismatch

# The last part of attribute names that tell the product; the values of any other attribute are left to allocation.
_PRODUCT = frozenset({"productName", "product", "model", "modelName", "type", "architecture", "cardType"})


def other_product(mismatches: Iterable[ShapeMismatch]) -> str:
    """The sentence about devices of another product than promised; empty for none (F15, T24)."""
    return next((each.sentence for each in mismatches if each.check == "C3" and _attribute(each) in _PRODUCT), "")


def _attribute(mismatch: ShapeMismatch) -> str:
    """C3 tells what it expected as `driver/pool/device: domain/attribute=value`."""
    name = mismatch.expected.rpartition(": ")[2].partition("=")[0]
    return name.rpartition("/")[2]
