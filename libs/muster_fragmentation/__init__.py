"""Fragmentation of accelerators: what is free and of no use, to whom, what it costs, and which moves would mend it.

Pure. `survey(snapshot, shapes)` reports, `make_room(snapshot, shape)` proposes moves; shapes are those that claims of
the cluster have (`observed_shapes`) or given ones. Only devices are looked at, not CPU, memory or taints of nodes.
"""

from muster_fragmentation.counters import CounterWaste, counter_waste
from muster_fragmentation.fitting import Fitting, free_devices, holds, takes
from muster_fragmentation.moves import MOST_MOVES, Move, NoRoom, Room, make_room
from muster_fragmentation.report import ClassRow, Report, ShapeRow, Stranded, group_of, survey
from muster_fragmentation.shapes import Shape, merged, observed_shapes

__all__ = [
    "MOST_MOVES",
    "ClassRow",
    "CounterWaste",
    "Fitting",
    "Move",
    "NoRoom",
    "Report",
    "Room",
    "Shape",
    "ShapeRow",
    "Stranded",
    "counter_waste",
    "free_devices",
    "group_of",
    "holds",
    "make_room",
    "merged",
    "observed_shapes",
    "survey",
    "takes",
]
