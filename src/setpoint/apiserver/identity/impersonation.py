"""Impersonation: the user named by a request's ``Impersonate-`` headers, and the permissions to act as that user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import unquote

from msgspec.structs import replace

from setpoint.apiserver.authorization.attributes import Attributes, forbidden
from setpoint.apiserver.authorization.authorizer import SUPERUSERS, Authorizer
from setpoint.apiserver.errors import ApiStatusError, bad_request
from setpoint.apiserver.http_types import IncomingRequest, UserInfo
from setpoint.apiserver.identity.users import (
    ANONYMOUS,
    AUTHENTICATED,
    UNAUTHENTICATED,
    account_groups,
    account_of,
    node_of,
)
from setpoint.meta.names import dns1123_subdomain
from setpoint.meta.text_escaping import quote

_EXTRA: Final = "impersonate-extra-"
_AUTHENTICATION: Final = ("authentication.k8s.io", "v1")
_CORE: Final = ("", "v1")
_MANY: Final = 4
"""With at least this many groups or extra values, the permission for all of them (``*``) is checked first, as in
upstream.
"""
_NODE_NAME: Final = "authentication.kubernetes.io/node-name"


def wanted(request: IncomingRequest) -> UserInfo | None:
    """The user named by the impersonation headers; None if there are no such headers or they are empty.

    Raises:
        ApiStatusError: 400 for a group, uid or extra value without a user.
    """
    named = {name: value for name, value in request.headers.items() if name.startswith("impersonate-")}
    if not named:
        return None
    name = _values(named, "impersonate-user")[:1]
    uid = _values(named, "impersonate-uid")[:1]
    extra: dict[str, tuple[str, ...]] = {}
    for header, value in named.items():
        if header.startswith(_EXTRA):
            key = unquote(header.removeprefix(_EXTRA).lower())
            extra[key] = (*extra.get(key, ()), *value.split("\n"))
    user = UserInfo(
        name[0] if name else "",
        uid[0] if uid else "",
        tuple(_values(named, "impersonate-group")),
        extra,
    )
    if user.name:
        return user
    if user.uid or user.groups or extra:
        raise bad_request(f"requested {_requested_text(user)} without impersonating a user name")
    return None


def act_as(user: UserInfo, attributes: Attributes | None = None, authorizer: Authorizer | None = None) -> UserInfo:
    """The impersonated user. If the headers name no groups, the user has the default groups for that kind of user.

    ``attributes`` are those of the request, with the requester as their user. Without ``attributes`` or an authorizer,
    any user may act as any other. Otherwise the requester needs the permissions of a constrained mode
    (``impersonate:user-info``, ``:serviceaccount``, ``:arbitrary-node``, ``:associated-node``, each with
    ``impersonate-on:…:VERB`` for the request itself) or those of plain ``impersonate``. Source: KEP-5284.

    Raises:
        ApiStatusError: 403, naming the first missing permission.
    """
    if authorizer is None or attributes is None:
        return _completed(user, _groups(user, constrained=False))
    first: ApiStatusError | None = None
    for mode in (*_modes(user, attributes.user), ""):
        try:
            return _checked(user, attributes, authorizer, mode)
        except ApiStatusError as refused:
            first = first or refused
    assert first is not None
    raise first


def _modes(user: UserInfo, requester: UserInfo) -> list[str]:
    """The constrained modes that can be used to impersonate the user."""
    only_name = not user.uid and not user.groups and not user.extra
    node = node_of(user.name)
    if node is not None:
        if not only_name:
            return []
        associated = account_of(requester.name) is not None and requester.extra.get(_NODE_NAME) == (node,)
        return ["associated-node", "arbitrary-node"] if associated else ["arbitrary-node"]
    if account_of(user.name) is not None:
        return ["serviceaccount"] if only_name else []
    return ["user-info"]


def _checked(user: UserInfo, attributes: Attributes, authorizer: Authorizer, mode: str) -> UserInfo:
    """The impersonated user. ``mode`` is a constrained mode, or ``""`` for plain ``impersonate``.

    Raises:
        ApiStatusError: 403 if the requester lacks a permission that the mode needs.
    """
    questions = _Questions(attributes.user, authorizer, mode)
    if mode:
        questions.must(replace(attributes, user=questions.requester, verb=f"impersonate-on:{mode}:{attributes.verb}"))
    questions.user(user)
    if user.uid:
        questions.ask("uids", user.uid)
    questions.groups(user.groups)
    questions.extras(user.extra)
    return _completed(user, _groups(user, constrained=bool(mode)))


class _Questions:
    """Asks the authorizer about the permissions of one mode. Its methods raise ApiStatusError (403)."""

    def __init__(self, requester: UserInfo, authorizer: Authorizer, mode: str) -> None:
        self._authorizer = authorizer
        self._mode = mode
        self._verb = f"impersonate:{mode}" if mode else "impersonate"
        self._named = _AUTHENTICATION if mode else _CORE
        if mode == "associated-node":
            keys = {"authentication.kubernetes.io/associated-node-keys": tuple(sorted(requester.extra))}
            requester = replace(requester, extra=keys)
        self.requester = requester

    def user(self, user: UserInfo) -> None:
        node = node_of(user.name) if self._mode else None
        account = account_of(user.name)
        if node is not None:
            name = "*" if self._mode == "associated-node" else node
            self.ask("nodes", name, of=self._named)
        elif account is not None:
            self.ask("serviceaccounts", account[1], namespace=account[0], of=self._named)
        else:
            self.ask("users", user.name, of=self._named)

    def groups(self, groups: Sequence[str]) -> None:
        if not groups:
            return
        if self._mode:
            if "" in groups:
                self.refuse("groups", "", "impersonating the empty string group is not allowed", of=self._named)
            if SUPERUSERS in groups:
                text = "impersonating the system:masters group is not allowed"
                self.refuse("groups", SUPERUSERS, text, of=self._named)
            if len(groups) >= _MANY and self._may("groups", "*", of=self._named):
                return
        for group in groups:
            self.ask("groups", group, of=self._named)

    def extras(self, extra: Mapping[str, Sequence[str]]) -> None:
        if not extra:
            return
        if self._mode:
            wrong = _wrong_extra(extra)
            if wrong:
                self.refuse("userextras", "", wrong)
            count = max(len(extra), sum(map(len, extra.values())))
            if count >= _MANY and self._may("userextras", "*", subresource="*"):
                return
        for key, values in extra.items():
            for value in values:
                self.ask("userextras", value, subresource=key)

    def ask(
        self,
        resource: str,
        name: str,
        *,
        namespace: str = "",
        subresource: str = "",
        of: tuple[str, str] = _AUTHENTICATION,
    ) -> None:
        self.must(self._attributes(resource, name, namespace, subresource, of))

    def must(self, attributes: Attributes) -> None:
        decision = self._authorizer.authorize(attributes)
        if not decision.allowed:
            raise forbidden(attributes, decision.reason)

    def refuse(self, resource: str, name: str, reason: str, *, of: tuple[str, str] = _AUTHENTICATION) -> None:
        raise forbidden(self._attributes(resource, name, "", "", of), reason)

    def _may(self, resource: str, name: str, *, subresource: str = "", of: tuple[str, str] = _AUTHENTICATION) -> bool:
        return self._authorizer.authorize(self._attributes(resource, name, "", subresource, of)).allowed

    def _attributes(
        self, resource: str, name: str, namespace: str, subresource: str, of: tuple[str, str]
    ) -> Attributes:
        return Attributes(self.requester, self._verb, *of, resource, subresource, namespace, name)


def _groups(user: UserInfo, *, constrained: bool) -> tuple[str, ...]:
    """The groups named by the headers; if they name none, the default groups for the user's kind."""
    if user.groups:
        return user.groups
    if constrained and node_of(user.name) is not None:
        return ("system:nodes",)
    account = account_of(user.name)
    return () if account is None else account_groups(account[0])


def _completed(user: UserInfo, groups: tuple[str, ...]) -> UserInfo:
    if user.name == ANONYMOUS:
        if UNAUTHENTICATED not in groups:
            groups = (*groups, UNAUTHENTICATED)
    elif UNAUTHENTICATED not in groups and AUTHENTICATED not in groups:
        groups = (*groups, AUTHENTICATED)
    return replace(user, groups=groups)


def _wrong_extra(extra: Mapping[str, Sequence[str]]) -> str:
    for key, values in extra.items():
        if not key:
            return "impersonating the empty string key in extra is not allowed"
        domain, slash, path = key.partition("/")
        if not slash or not path or dns1123_subdomain(domain):
            text = 'must be a domain-prefixed path (such as "acme.io/foo")'
            return (
                f"impersonating an invalid key in extra is not allowed: extra.key: Invalid value: {quote(key)}: {text}"
            )
        if "" in values:
            return "impersonating the empty string value in extra is not allowed"
    return ""


def _requested_text(user: UserInfo) -> str:
    """The user in the form of Go's ``%#v``."""
    groups = f"[]string{{{', '.join(map(quote, user.groups))}}}" if user.groups else "[]string(nil)"
    pairs = (f"{quote(key)}:[]string{{{', '.join(map(quote, values))}}}" for key, values in sorted(user.extra.items()))
    extra = f"map[string][]string{{{', '.join(pairs)}}}" if user.extra else "map[string][]string(nil)"
    return f'&user.DefaultInfo{{Name:"", UID:{quote(user.uid)}, Groups:{groups}, Extra:{extra}}}'


def _values(headers: Mapping[str, str], name: str) -> list[str]:
    value = headers.get(name)
    return [] if value is None else value.split("\n")
