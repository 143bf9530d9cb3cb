"""From integer device requests to claims with the same meaning, each change explained.

Pure: objects in, a plan of edits out. `migrate_objects(documents, evidence)` plans, `apply_edits` makes the new form,
`check_migration` proves on a snapshot that it fits where the old one did and that nothing is sold twice.
"""

from muster_migrate.catalogue import NoEquivalent, Query, documented
from muster_migrate.check import Check, Fit, NodeFit, PodCheck, SoldTwice, check_migration, sold_twice
from muster_migrate.edits import Cut, Edit, Put, apply_edits, shown
from muster_migrate.evidence import Evidence
from muster_migrate.extended import migrate_extended
from muster_migrate.objects import Migration, ObjectMigration, migrate_objects, subject_of
from muster_migrate.pods import PodMigration
from muster_migrate.remarks import Cause, Remark, Saying

__all__ = [
    "Cause",
    "Check",
    "Cut",
    "Edit",
    "Evidence",
    "Fit",
    "Migration",
    "NoEquivalent",
    "NodeFit",
    "ObjectMigration",
    "PodCheck",
    "PodMigration",
    "Put",
    "Query",
    "Remark",
    "Saying",
    "SoldTwice",
    "apply_edits",
    "check_migration",
    "documented",
    "migrate_extended",
    "migrate_objects",
    "shown",
    "sold_twice",
    "subject_of",
]
