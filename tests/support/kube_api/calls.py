"""Who calls what: users by bearer token, what they may, and a record of what they did."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from support.kube_api.answers import StatusError
from support.kube_api.paths import Route

ADMIN_TOKEN = "admin-token"


@dataclass(frozen=True, slots=True, order=True)
class Permission:
    """What RBAC grants: `resource` with its subresource, as in `nodes/status`."""

    verb: str
    group: str
    resource: str


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a resource; `code` is the answer's, 0 while there is none. Discovery and health are not recorded."""

    user: str
    verb: str
    group: str
    resource: str
    subresource: str
    namespace: str
    name: str
    manager: str = ""

    @property
    def permission(self) -> Permission:
        """What it needs."""
        below = f"/{self.subresource}" if self.subresource else ""
        return Permission(self.verb, self.group, f"{self.resource}{below}")


@dataclass(slots=True)
class Users:
    """Tokens and grants. A user without grants of its own may everything."""

    tokens: dict[str, str] = field(default_factory=lambda: {ADMIN_TOKEN: "admin"})
    grants: dict[str, frozenset[Permission]] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    told: Callable[[Call], None] = lambda _: None

    def issue(self, user: str, token: str = "") -> str:
        """A further token for a user."""
        token = token or f"token-{len(self.tokens)}-of-{user}"
        self.tokens[token] = user
        return token

    def revoke(self, token: str) -> None:
        """Calls with it are unauthorized from now on; running watches go on, as they do on a real server."""
        self.tokens.pop(token, None)

    def grant(self, user: str, permissions: Iterable[Permission]) -> None:
        """From now on the user may this and nothing else."""
        self.grants[user] = frozenset(permissions)

    def used(self, user: str) -> frozenset[Permission]:
        """Everything that a user has called."""
        return frozenset(call.permission for call in self.calls if call.user == user)

    def authenticate(self, authorization: str) -> str:
        """The user. Raises StatusError 401."""
        scheme, _, token = authorization.partition(" ")
        user = self.tokens.get(token.strip()) if scheme.lower() == "bearer" else None
        if user is None:
            raise StatusError(401, "Unauthorized", "Unauthorized")
        return user

    def admit(self, user: str, verb: str, route: Route, manager: str) -> None:
        """Record the call. Raises StatusError 403."""
        call = Call(
            user, verb, route.type.group, route.type.plural, route.subresource, route.namespace, route.name, manager
        )
        self.calls.append(call)
        self.told(call)
        granted = self.grants.get(user)
        if granted is not None and call.permission not in granted:
            asked = call.permission
            raise StatusError(
                403,
                "Forbidden",
                f'{asked.resource} is forbidden: User "{user}" cannot {verb} resource "{asked.resource}" '
                f'in API group "{asked.group}" at the cluster scope',
            )
