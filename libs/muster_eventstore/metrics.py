"""Figures of the message path, with few labels: the consumer's or projection's name, never a subject."""

from prometheus_client import Counter, Gauge, Histogram

HANDLED = Counter("muster_messages_handled", "Messages handled by a keyed worker.", ("consumer",))
RETRIED = Counter("muster_messages_retried", "Failed attempts that are tried again.", ("consumer",))
PARKED = Counter("muster_messages_parked", "Messages given up and parked; alarm on any.", ("consumer",))
HELD = Gauge("muster_messages_held", "Messages taken and not yet acknowledged.", ("consumer",))
HANDLING = Histogram("muster_message_handling_seconds", "Time in the handler.", ("consumer",))
CONFLICTS = Counter("muster_append_conflicts", "Appends refused for their expected sequence.", ("stream",))
APPENDED = Counter("muster_appends", "Decisions appended.", ("stream",))
POSITION = Gauge("muster_projection_sequence", "Stream sequence that a projection covers.", ("projection",))
UNREADABLE = Counter("muster_messages_unreadable", "Messages that a reader could not decode.", ("reader",))
LEASES_LOST = Counter("muster_leases_lost", "Leases lost while held.", ("lease",))
