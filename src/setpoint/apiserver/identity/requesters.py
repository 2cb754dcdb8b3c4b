"""The users of requests: the sender, the user for whom the request is made, and that user's permissions."""

from __future__ import annotations

from msgspec.structs import replace

from setpoint.apiserver.authorization.attributes import Attributes, requested
from setpoint.apiserver.http_types import IncomingRequest, UserInfo
from setpoint.apiserver.identity.authentication import TokenUsers, bearer_token, unauthorized
from setpoint.apiserver.identity.impersonation import act_as, wanted
from setpoint.apiserver.identity.keys import BadTokenError
from setpoint.apiserver.state import DECISION, REASON, State


class Requesters:
    """Finds the user of each request, and checks whether that user may make the request.

    ``closed``: whether requests from the network are authenticated. ``follows``: whether the requests in
    progress are recorded in `asked`.
    """

    def __init__(self, state: State, users: TokenUsers, *, closed: bool, follows: bool) -> None:
        self._state = state
        self._users = users
        self._closed = closed
        self._follows = follows
        self.requests: dict[int, tuple[Attributes, UserInfo]] = {}
        """The attributes and senders of the requests from the network that are in progress, by the ids of the request
        objects.
        """

    def user_of(self, request: IncomingRequest) -> UserInfo:
        """The user for whom the request is made: the sender, or the user whom the sender impersonates.

        Raises:
            ApiStatusError: 401, 403 if the request or the impersonation is not allowed, or 400 for impersonation
                headers without a user.
            Suspended: the keys of an identity provider have to be fetched first.
        """
        state = self._state
        user = self._sender(request)
        other = wanted(request)
        notes = state.notes.get(id(request))
        if not state.guarded:
            if notes is not None:
                notes.update({DECISION: "allow", REASON: ""})
            acting = user if other is None else act_as(other)
            if self._remembers(request):
                self._remember(request, requested(request.method, request.path, request.query, acting), user)
            return acting
        attributes = requested(request.method, request.path, request.query, user)
        self._remember(request, attributes, user)
        if other is not None:
            attributes = replace(attributes, user=act_as(other, attributes, state.authorizer))
            self._remember(request, attributes, user)
        state.check(attributes, notes)
        return attributes.user

    def _remembers(self, request: IncomingRequest) -> bool:
        return self._follows and getattr(request, "peer", None) is not None

    def _remember(self, request: IncomingRequest, attributes: Attributes, sender: UserInfo) -> None:
        if self._remembers(request):
            self.requests[id(request)] = attributes, sender

    def _sender(self, request: IncomingRequest) -> UserInfo:
        """The sender of the request. Raises ApiStatusError (401).

        A request that is not from the network needs no credentials. Without a token, its sender is its ``user``, or
        else the server's administrator. The same holds for every request if the server does not authenticate clients;
        an invalid token is then ignored.
        """
        state = self._state
        if self._closed and getattr(request, "peer", None) is not None:
            return self._users.of_request(request, state.now())
        token = bearer_token(request)
        if token:
            try:
                return self._users.user_of(token, (), state.now())[0]
            except BadTokenError:
                if self._closed:
                    raise unauthorized() from None
        return getattr(request, "user", None) or state.admin
