"""Kubeconfigs for the processes of pods, with tokens of their service accounts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from setpoint.client import Client, NotFound
from setpoint.meta.yaml_text import to_yaml
from setpoint.models.core_v1 import Pod

Kubeconfig = Callable[[str], dict[str, Any]]
"""A function that returns a kubeconfig document for a bearer token."""
_SECONDS: Final = 365 * 24 * 3600


class PodAccess:
    """Writes a kubeconfig for each pod, readable only by the user that runs the server.

    A file is removed with its pod, and all of them by `close`. The tokens are good for a year.
    """

    def __init__(self, client: Client, kubeconfig: Kubeconfig) -> None:
        self._client = client
        self._kubeconfig = kubeconfig
        self._directory: TemporaryDirectory[str] | None = None
        self._files: dict[str, Path] = {}

    async def environment(self, pod: Pod) -> dict[str, str]:
        """``KUBECONFIG``, for the pod's containers; empty if the pod has no service account, or wants no token.

        Raises:
            ApiError, TransportError: the server refused the token.
            OSError: the file can't be written.
        """
        if pod.spec.automount_service_account_token is False:
            return {}
        if pod.uid not in self._files:
            try:
                granted = await self._client.create_token(
                    pod.spec.service_account_name or "default", namespace=pod.namespace, expiration_seconds=_SECONDS
                )
            except NotFound:  # a pod may be here before its account
                return {}
            self._files[pod.uid] = self._write(pod, granted.status.token or "")
        return {"KUBECONFIG": str(self._files[pod.uid])}

    def _write(self, pod: Pod, token: str) -> Path:
        if self._directory is None:
            self._directory = TemporaryDirectory(prefix="setpoint-")  # which only its owner may enter
        document = self._kubeconfig(token)
        for context in document["contexts"]:
            context["context"]["namespace"] = pod.namespace
        path = Path(self._directory.name) / f"{pod.uid}.yaml"
        path.touch(mode=0o600)
        path.write_text(to_yaml([document]), encoding="utf-8")
        return path

    def forget(self, uid: str) -> None:
        """Removes the file of a pod that is gone."""
        path = self._files.pop(uid, None)
        if path is not None:
            path.unlink(missing_ok=True)

    def close(self) -> None:
        """Removes all files."""
        self._files.clear()
        if self._directory is not None:
            self._directory.cleanup()
            self._directory = None
