"""A second, independent allocator: slow, obvious, and written from dra-semantics §1 to §3 alone.

It reads raw Kubernetes objects and shares one thing with muster_dra: the evaluation of one CEL expression on one device
(expressions.py), which has corpora of its own. Versions of objects, quantities, node selectors, pools, preparation,
counters, capacity, constraints, taints, search and results are its own, so that a fault in any of them shows.

It follows the default profile of Kubernetes 1.37 with its default gates, open defects of upstream included; other
releases and gates, and the documented meaning, are compared with muster_dra.reference alone.
"""

from support.dra_reference.answer import Answer, answer

__all__ = ["Answer", "answer"]
