"""Calls to webhooks, for admission and conversion; `HttpCaller` and `InProcessCaller` make them."""

from __future__ import annotations

from setpoint.apiserver.webhooks.caller import CallFailed, HttpCaller, InProcessCaller, Target, WebhookCaller

__all__ = ["CallFailed", "HttpCaller", "InProcessCaller", "Target", "WebhookCaller"]
