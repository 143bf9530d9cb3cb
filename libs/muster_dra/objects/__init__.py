"""Kubernetes JSON of resource.k8s.io to values; older versions are normalised to v1 (dra-semantics §1)."""
