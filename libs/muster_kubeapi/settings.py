"""Settings of a service that speaks to live clusters; `MUSTER_<FIELD>` in the environment."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from muster_kubeapi.access import Access, find_access


class KubeSettings(BaseSettings):
    """To be mixed into a service's settings, which have `clusters`.

    `kube_contexts` names the kubeconfig's context of each cluster: `eu=prod-eu;us=prod-us`, or without a cluster's name
    for the only one. Without it, the only cluster is the current context or the pod's own cluster, and several clusters
    are contexts of their names.
    """

    model_config = SettingsConfigDict(env_prefix="MUSTER_", frozen=True, extra="ignore")

    kubeconfig: Path | None = Field(default=None, description="empty: $KUBECONFIG, ~/.kube/config, the pod's account")
    kube_contexts: Annotated[dict[str, str], NoDecode] = Field(default_factory=dict)

    @field_validator("kube_contexts", mode="before")
    @classmethod
    def _split_contexts(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        contexts: dict[str, str] = {}
        for entry in filter(None, (part.strip() for part in value.split(";"))):
            cluster, named, context = entry.partition("=")
            cluster, context = (cluster.strip(), context.strip()) if named else ("", entry)
            if cluster in contexts:
                raise ValueError(f"cluster {cluster!r} stands twice; give each cluster one context")
            contexts[cluster] = context
        return contexts

    @field_validator("kubeconfig")
    @classmethod
    def _is_kubeconfig(cls, value: Path | None) -> Path | None:
        if value is not None and not value.expanduser().is_file():
            raise ValueError(f"no file at {value}")
        return None if value is None else value.expanduser()

    @model_validator(mode="after")
    def _contexts_of_clusters(self) -> "KubeSettings":
        clusters = self._clusters()
        if "" in self.kube_contexts and (len(clusters) != 1 or len(self.kube_contexts) != 1):
            raise ValueError("with several clusters name the cluster of each context: MUSTER_KUBE_CONTEXTS=eu=a;us=b")
        unknown = sorted(set(self.kube_contexts) - {*clusters, ""})
        if unknown:
            raise ValueError(
                f"MUSTER_KUBE_CONTEXTS names {unknown[0]!r}, which is not in MUSTER_CLUSTERS; add it there"
            )
        return self

    def access_of(self, cluster: str) -> Access:
        """How to reach a cluster's API server."""
        named = self.kube_contexts.get(cluster, self.kube_contexts.get("", ""))
        return find_access(self.kubeconfig, named or (cluster if len(self._clusters()) > 1 else ""))

    def _clusters(self) -> tuple[str, ...]:
        return tuple(getattr(self, "clusters", ("local",)))
