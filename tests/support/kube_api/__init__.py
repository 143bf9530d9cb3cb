"""A fake Kubernetes API server that keeps what clients rely on: versions, watches, subresources, apply, conflicts.

Without: conversion between versions, schemas and defaults, admission, strategic merge patches, garbage collection,
graceful deletion.
"""

from support.kube_api.backends import backend_types
from support.kube_api.calls import ADMIN_TOKEN, Call, Permission
from support.kube_api.faults import Faults
from support.kube_api.kinds import DEFAULT_TYPES, ResourceType, in_versions, without
from support.kube_api.kubeconfig import write_kubeconfig
from support.kube_api.server import KubeApi

__all__ = [
    "ADMIN_TOKEN",
    "DEFAULT_TYPES",
    "Call",
    "Faults",
    "KubeApi",
    "Permission",
    "ResourceType",
    "backend_types",
    "in_versions",
    "without",
    "write_kubeconfig",
]
