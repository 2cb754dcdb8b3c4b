"""HTTP/1.1 and TLS for servers whose requests are small and complete: webhooks, health, metrics and pages."""

from setpoint.serving.http_connection import HttpConnection, HttpService, Refused
from setpoint.serving.http_response import Reply
from setpoint.serving.listener import Listener
from setpoint.serving.request_head import HttpRequest
from setpoint.serving.tls_connection import TlsConnection

__all__ = ["HttpConnection", "HttpRequest", "HttpService", "Listener", "Refused", "Reply", "TlsConnection"]
