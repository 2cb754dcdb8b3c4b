"""The client of one API server: configuration, credentials, transport, verbs, patches and errors."""

from setpoint.client.client import Client
from setpoint.client.concurrency_limiter import AdaptiveLimiter
from setpoint.client.config import ClientConfig, Impersonation, in_cluster_config
from setpoint.client.credentials import Anonymous, Basic, Credentials, StaticToken, TokenFile
from setpoint.client.discovery import Discovered, Discovery
from setpoint.client.dynamic import DynamicObject, dynamic
from setpoint.client.errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    ConfigError,
    Conflict,
    CredentialsError,
    Expired,
    Forbidden,
    Gone,
    InternalError,
    Invalid,
    MethodNotAllowed,
    NotAcceptable,
    NotFound,
    RequestEntityTooLarge,
    ServerTimeout,
    ServiceUnavailable,
    Timeout,
    TooManyRequests,
    Unauthorized,
    UnreadableAnswer,
    UnsupportedMediaType,
    error_from,
)
from setpoint.client.http_transport import HttpTransport
from setpoint.client.in_process_transport import InProcessTransport
from setpoint.client.kubeconfig import load_config, load_kubeconfig
from setpoint.client.object_list import ObjectList
from setpoint.client.partial_metadata import PartialObjectMetadata, metadata_only
from setpoint.client.rest_mapper import AmbiguousMatchError, NoMatchError, RestMapper
from setpoint.client.retry import DEFAULT_BACKOFF, DEFAULT_RETRY, Backoff, RetryPolicy, retry_on_conflict
from setpoint.client.tls import ClientCertificate
from setpoint.client.transport import Request, Response, Transport, TransportError
from setpoint.client.verb_options import FieldValidation, Patch, PatchType, Propagation
from setpoint.client.waiting import WaitFailed, WaitTimeout
from setpoint.client.watch import EventType, Watch, WatchEvent
from setpoint.client.websocket import (
    CommandResult,
    CommandStream,
    PortStream,
    WebSocket,
    WebSocketTransport,
    connect_over,
)
from setpoint.client.write_record import WriteObserver, WriteRecord

__all__ = [
    "DEFAULT_BACKOFF",
    "DEFAULT_RETRY",
    "AdaptiveLimiter",
    "AlreadyExists",
    "AmbiguousMatchError",
    "Anonymous",
    "ApiError",
    "Backoff",
    "BadRequest",
    "Basic",
    "Client",
    "ClientCertificate",
    "ClientConfig",
    "CommandResult",
    "CommandStream",
    "ConfigError",
    "Conflict",
    "Credentials",
    "CredentialsError",
    "Discovered",
    "Discovery",
    "DynamicObject",
    "EventType",
    "Expired",
    "FieldValidation",
    "Forbidden",
    "Gone",
    "HttpTransport",
    "Impersonation",
    "InProcessTransport",
    "InternalError",
    "Invalid",
    "MethodNotAllowed",
    "NoMatchError",
    "NotAcceptable",
    "NotFound",
    "ObjectList",
    "PartialObjectMetadata",
    "Patch",
    "PatchType",
    "PortStream",
    "Propagation",
    "Request",
    "RequestEntityTooLarge",
    "Response",
    "RestMapper",
    "RetryPolicy",
    "ServerTimeout",
    "ServiceUnavailable",
    "StaticToken",
    "Timeout",
    "TokenFile",
    "TooManyRequests",
    "Transport",
    "TransportError",
    "Unauthorized",
    "UnreadableAnswer",
    "UnsupportedMediaType",
    "WaitFailed",
    "WaitTimeout",
    "Watch",
    "WatchEvent",
    "WebSocket",
    "WebSocketTransport",
    "WriteObserver",
    "WriteRecord",
    "connect_over",
    "dynamic",
    "error_from",
    "in_cluster_config",
    "load_config",
    "load_kubeconfig",
    "metadata_only",
    "retry_on_conflict",
]
