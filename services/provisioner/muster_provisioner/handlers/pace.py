"""How often to look at a node group, and for how long."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class Pace:
    """How often to look, and how long. `poll`: seconds between looks while an order is open; `late_poll`: while closed
    orders are watched for late nodes, which ends `late_window` after they were closed; `declaration_wait`: how long an
    order may be ahead of the declaration of its node group; `longest_pause`: between attempts of a failing call."""

    poll: timedelta = timedelta(seconds=1)
    late_poll: timedelta = timedelta(seconds=10)
    late_window: timedelta = timedelta(minutes=15)
    declaration_wait: timedelta = timedelta(seconds=10)
    longest_pause: timedelta = timedelta(seconds=30)
