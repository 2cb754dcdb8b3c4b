"""Webhooks: admission and conversion over HTTPS, their certificates and their registration."""

from setpoint.webhook.admission import Admission, AdmissionError
from setpoint.webhook.authority import CertificateError
from setpoint.webhook.certificates import CertificateFiles, CertificateSource, MemoryCertificates
from setpoint.webhook.conversion import ConversionFailed, Converter
from setpoint.webhook.decide import apply_defaults, check
from setpoint.webhook.metrics import WebhookMetrics
from setpoint.webhook.review import Operation, Review, UndeclaredRead
from setpoint.webhook.rotation import Rotation
from setpoint.webhook.server import WebhookServer
from setpoint.webhook.webhooks import Reply, Webhooks

__all__ = [
    "Admission",
    "AdmissionError",
    "CertificateError",
    "CertificateFiles",
    "CertificateSource",
    "ConversionFailed",
    "Converter",
    "MemoryCertificates",
    "Operation",
    "Reply",
    "Review",
    "Rotation",
    "UndeclaredRead",
    "WebhookMetrics",
    "WebhookServer",
    "Webhooks",
    "apply_defaults",
    "check",
]
