# Generated from Kubernetes 1.37 by tools/generate_models.py: do not edit, run `make models`.
"""authentication.k8s.io/v1."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

import msgspec

from setpoint.meta import ApiModel, Object, Resource
from setpoint.models import _table


class BoundObjectReference(ApiModel):
    """BoundObjectReference is a reference to an object that a token is bound to."""

    api_version: str | None = None
    """apiVersion is API version of the referent."""
    kind: str | None = None
    """kind of the referent. Valid kinds are 'Pod', 'Secret', 'Node', 'ValidatingWebhookConfiguration', and
    'MutatingWebhookConfiguration'.
    """
    name: str | None = None
    """name of the referent."""
    uid: str | None = None
    """uid of the referent."""


class SelfSubjectReviewStatus(ApiModel):
    """SelfSubjectReviewStatus is filled by the kube-apiserver and sent back to a user."""

    user_info: UserInfo | None = None
    """userInfo is a set of attributes belonging to the user making this request."""


class TokenRequestSpec(ApiModel):
    """TokenRequestSpec contains client provided parameters of a token request."""

    attestations: dict[str, list[str]] = {}
    """attestations is a map of well-known keys to string-slice values."""
    audiences: list[str] = []
    """audiences are the intendend audiences of the token."""
    bound_object_ref: BoundObjectReference | None = None
    """boundObjectRef is a reference to an object that the token will be bound to."""
    expiration_seconds: int | None = None
    """expirationSeconds is the requested duration of validity of the request."""


class TokenRequestStatus(ApiModel):
    """TokenRequestStatus is the result of a token request."""

    expiration_timestamp: datetime | None = None
    """expirationTimestamp is the time of expiration of the returned token."""
    token: str | None = None
    """token is the opaque bearer token."""


class TokenReviewSpec(ApiModel):
    """TokenReviewSpec is a description of the token authentication request."""

    audiences: list[str] = []
    """audiences is a list of the identifiers that the resource server presented with the token identifies as."""
    token: str
    """token is the opaque bearer token."""


class TokenReviewStatus(ApiModel):
    """TokenReviewStatus is the result of the token authentication request."""

    audiences: list[str] = []
    """audiences are audience identifiers chosen by the authenticator that are compatible with both the TokenReview and
    token.
    """
    authenticated: bool | None = None
    """authenticated indicates that the token was associated with a known user."""
    error: str | None = None
    """error indicates that the token couldn't be checked"""
    user: UserInfo | None = None
    """user is the UserInfo associated with the provided token."""


class UserInfo(ApiModel):
    """UserInfo holds the information about the user needed to implement the user.Info interface."""

    extra: dict[str, list[str]] = {}
    """extra is any additional information provided by the authenticator."""
    groups: list[str] = []
    """groups is the names of groups this user is a part of."""
    uid: str | None = None
    """uid is a unique value that identifies this user across time."""
    username: str | None = None
    """username is the name that uniquely identifies this user among all active users."""


class SelfSubjectReview(Object, ApiModel):
    """SelfSubjectReview contains the user information that the kube-apiserver has about the user making this request.
    When using impersonation, users will receive the user info of the user being impersonated. If impersonation or
    request header authentication is used, any extra keys will have their case ignored and returned as lowercase.
    """

    resource: ClassVar[Resource] = _table.AUTHENTICATION_V1_SELF_SUBJECT_REVIEW

    status: SelfSubjectReviewStatus = msgspec.field(default_factory=SelfSubjectReviewStatus)
    """status is filled in by the server with the user attributes."""


class TokenRequest(Object, ApiModel):
    """TokenRequest requests a token for a given service account."""

    resource: ClassVar[Resource] = _table.AUTHENTICATION_V1_TOKEN_REQUEST

    spec: TokenRequestSpec = msgspec.field(default_factory=TokenRequestSpec)
    """spec holds information about the request being evaluated"""
    status: TokenRequestStatus = msgspec.field(default_factory=TokenRequestStatus)
    """status is filled in by the server and indicates whether the token can be authenticated."""


class TokenReview(Object, ApiModel):
    """TokenReview attempts to authenticate a token to a known user. Note: TokenReview requests may be cached by the
    webhook token authenticator plugin in the kube-apiserver.
    """

    resource: ClassVar[Resource] = _table.AUTHENTICATION_V1_TOKEN_REVIEW

    spec: TokenReviewSpec = msgspec.field(default_factory=lambda: TokenReviewSpec(token=""))
    """spec holds information about the request being evaluated"""
    status: TokenReviewStatus = msgspec.field(default_factory=TokenReviewStatus)
    """status is filled in by the server and indicates whether the request can be authenticated."""
