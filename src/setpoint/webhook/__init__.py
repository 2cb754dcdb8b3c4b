"""Webhooks for admission and conversion over HTTPS, with their certificates and their registration."""

from setpoint.serving.http_response import Reply
from setpoint.webhook.admission import Admission, AdmissionError, Match
from setpoint.webhook.admission_decision import apply_defaults, check
from setpoint.webhook.certificate_authority import CertificateError, service_names
from setpoint.webhook.certificate_rotation import Rotation
from setpoint.webhook.certificates import CertificateFiles, CertificateSource, MemoryCertificates
from setpoint.webhook.conversion import ConversionFailed, Converter
from setpoint.webhook.installation import NotInForce, install, uninstall
from setpoint.webhook.metrics import WebhookMetrics
from setpoint.webhook.policy import Policy
from setpoint.webhook.registration import ServiceTarget, UrlTarget, configurations, conversion, trusting
from setpoint.webhook.review import Operation, Review
from setpoint.webhook.secret_certificates import SecretCertificates
from setpoint.webhook.served_webhooks import with_conversions
from setpoint.webhook.server import WebhookLimits, WebhookServer
from setpoint.webhook.webhooks import Webhooks

__all__ = [
    "Admission",
    "AdmissionError",
    "CertificateError",
    "CertificateFiles",
    "CertificateSource",
    "ConversionFailed",
    "Converter",
    "Match",
    "MemoryCertificates",
    "NotInForce",
    "Operation",
    "Policy",
    "Reply",
    "Review",
    "Rotation",
    "SecretCertificates",
    "ServiceTarget",
    "UrlTarget",
    "WebhookLimits",
    "WebhookMetrics",
    "WebhookServer",
    "Webhooks",
    "apply_defaults",
    "check",
    "configurations",
    "conversion",
    "install",
    "service_names",
    "trusting",
    "uninstall",
    "with_conversions",
]
