"""From integer device requests to claims with the same meaning, each change explained (issue: the operator's tools).

Pure: objects in, a plan of edits out. `migrate_objects(documents, evidence)` plans, `apply_edits` makes the new form,
`check_migration` proves on a snapshot that it fits where the old one did and that nothing is sold twice.
"""

from muster_migrate.catalogue import NoEquivalent, Query, documented
from muster_migrate.edits import Cut, Edit, Put, apply_edits, shown
from muster_migrate.evidence import Evidence
from muster_migrate.objects import Migration, ObjectMigration, migrate_objects, subject_of
from muster_migrate.pods import PodMigration
from muster_migrate.remarks import Cause, Remark, Saying

__all__ = [
    "Cause",
    "Cut",
    "Edit",
    "Evidence",
    "Migration",
    "NoEquivalent",
    "ObjectMigration",
    "PodMigration",
    "Put",
    "Query",
    "Remark",
    "Saying",
    "apply_edits",
    "documented",
    "migrate_objects",
    "shown",
    "subject_of",
]
