"""Webhooks: admission and conversion over HTTPS, their certificates and their registration."""

from setpoint.webhook.admission import Admission, AdmissionError
from setpoint.webhook.conversion import ConversionFailed, Converter
from setpoint.webhook.decide import apply_defaults, check
from setpoint.webhook.metrics import WebhookMetrics
from setpoint.webhook.review import Operation, Review, UndeclaredRead
from setpoint.webhook.webhooks import Reply, Webhooks

__all__ = [
    "Admission",
    "AdmissionError",
    "ConversionFailed",
    "Converter",
    "Operation",
    "Reply",
    "Review",
    "UndeclaredRead",
    "WebhookMetrics",
    "Webhooks",
    "apply_defaults",
    "check",
]
