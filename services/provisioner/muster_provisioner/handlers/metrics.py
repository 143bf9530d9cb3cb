"""What the provisioner counts."""

from prometheus_client import Counter

DRIVER_FAILURES = Counter(
    "muster_provisioner_driver_failures_total",
    "Driver calls that failed, by call and kind of failure",
    ["call", "kind"],
)
OVERDUE = Counter(
    "muster_provisioner_give_back_failures_total", "Failed attempts to give nodes or target size back to the provider"
)
