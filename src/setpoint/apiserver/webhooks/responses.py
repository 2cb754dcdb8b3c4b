"""Parses the answers from webhooks; errors in them are worded as in a kube-apiserver."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from setpoint.apiserver.webhooks.caller import CallFailed, Target, WebhookCaller

JsonObject = dict[str, Any]
# what client-go makes of HTTP errors that bring no Status
_WORDS: Final = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    413: "the server rejected our request due to an error in our request",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be processing the request",
}


async def ask(caller: WebhookCaller, target: Target, review: JsonObject, timeout: float) -> JsonObject:
    """The JSON object with which a webhook answers ``review``. Raises CallFailed."""
    try:
        status, body = await caller.call(target, msgspec.json.encode(review), timeout)
    except CallFailed as problem:
        raise CallFailed(f'Post "{target.url}": {problem}') from None
    try:
        document = msgspec.json.decode(body)
        problem_text = "json: an object is needed"
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        document, problem_text = None, str(problem)
    if not 200 <= status <= 206:
        if isinstance(document, dict) and (document.get("kind"), document.get("status")) == ("Status", "Failure"):
            raise CallFailed(str(document.get("message", "")))
        raise CallFailed(_words(status, body))
    if not isinstance(document, dict):
        raise CallFailed(f"couldn't get version/kind; json parse error: {problem_text}")
    return document


def _words(status: int, body: bytes) -> str:
    text = body[:2048].decode("utf-8", "replace").strip()
    if status == 403:
        return text or "unknown"
    if status in _WORDS:
        return _WORDS[status]
    if status >= 500:
        return f'an error on the server ("{text or "unknown"}") has prevented the request from succeeding'
    return f"the server responded with the status code {status} but did not return more information"


REVIEW_VERSIONS: Final = ("v1", "v1beta1")
"""The supported versions of reviews. A webhook lists the versions that it accepts in its order of
preference.
"""


def review_version(versions: Any) -> str:
    """The first of a webhook's ``versions`` that this server supports; ``v1`` if it supports none of them."""
    return next((version for version in versions or () if version in REVIEW_VERSIONS), REVIEW_VERSIONS[0])


def response_of(document: JsonObject, kind: str, api_version: str, uid: str) -> JsonObject:
    """The checked ``response`` of a review of ``kind`` and ``api_version``. Raises CallFailed."""
    response = document.get("response")
    if not isinstance(response, dict):
        raise CallFailed("webhook response was absent" if kind == "AdmissionReview" else "no response provided")
    if response.get("uid", "") != uid:
        raise CallFailed(f'expected response.uid="{uid}", got "{response.get("uid", "")}"')
    version = document.get("apiVersion", "")
    if (version, document.get("kind", "")) != (api_version, kind):
        raise CallFailed(
            f"expected webhook response of {api_version}, Kind={kind}, got {version}, Kind={document.get('kind', '')}"
        )
    return response


def refused_by(name: str, result: Any) -> JsonObject:
    """The Status for a refused request, made from the webhook's Status."""
    fields = result if isinstance(result, dict) else {}
    types = {"status": str, "message": str, "reason": str, "details": dict, "code": int}
    status: JsonObject = {key: fields[key] for key, kind in types.items() if isinstance(fields.get(key), kind)}
    denied = f'admission webhook "{name}" denied the request'
    code = status.get("code")
    status["code"] = code if isinstance(code, int) and code >= 400 else 400
    if status.get("status", "") in ("", "Success"):
        status["status"] = "Failure"
    if status.get("message"):
        status["message"] = f"{denied}: {status['message']}"
    elif status.get("reason"):
        status["message"] = f"{denied}: {status['reason']}"
    else:
        status["message"] = f"{denied} without explanation"
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, **status}
