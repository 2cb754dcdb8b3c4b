"""The credentials with which a server identifies itself to admission webhooks: the users of a kubeconfig."""

from __future__ import annotations

import base64
import ssl
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec


class CredentialsError(ValueError):
    """A file with credentials can't be used; the message names the file, the user and the reason."""


class Credentials(msgspec.Struct, frozen=True):
    """``authorization`` is the value of the header, or empty. ``certificate`` and ``key`` are PEM, or both empty."""

    authorization: str = ""
    certificate: bytes = b""
    key: bytes = b""

    def load(self, context: ssl.SSLContext) -> None:
        """Makes ``context`` present the certificate, if there is one. Raises CredentialsError if it does not fit its
        key.
        """
        if not self.certificate:
            return
        with TemporaryDirectory(prefix="setpoint-") as folder:  # the ssl module loads only files
            file = Path(folder) / "client.pem"
            file.write_bytes(self.certificate.rstrip(b"\n") + b"\n" + self.key)
            try:
                context.load_cert_chain(file, password=lambda: b"")
            except ssl.SSLError as problem:
                reason = (problem.reason or str(problem)).replace("_", " ").lower()
                raise CredentialsError(f"the client certificate and its key can't be used: {reason}") from None


NO_CREDENTIALS = Credentials()


class _User(msgspec.Struct, frozen=True, rename="kebab"):
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    username: str = ""
    password: str = ""
    exec: object = None
    auth_provider: object = None


class _NamedUser(msgspec.Struct, frozen=True):
    name: str
    user: _User = _User()


class _ContextUser(msgspec.Struct, frozen=True):
    user: str = ""


class _Context(msgspec.Struct, frozen=True):
    name: str
    context: _ContextUser = _ContextUser()


class _Kubeconfig(msgspec.Struct, frozen=True, rename={"current_context": "current-context"}):
    users: tuple[_NamedUser, ...] = ()
    contexts: tuple[_Context, ...] = ()
    current_context: str = ""


class WebhookUsers:
    """The users in a kubeconfig, whose names are hosts of webhooks, with the rules of kube-apiserver: the exact
    ``host:port``; ``*`` for the first labels of a name (``*.ns.svc:8443``); both again without the port, if this is
    443; the user ``*``; the user of the current context.

    Raises:
        CredentialsError: the file can't be read, is not a kubeconfig, or has a user that runs a program (``exec``) or
            whose certificate lacks its key.
    """

    def __init__(self, path: Path) -> None:
        from setpoint.meta.yaml_files import YamlFileError, read_first

        self._path = path
        try:
            document = msgspec.convert(read_first(path), _Kubeconfig)
        except YamlFileError as problem:
            raise CredentialsError(str(problem)) from None
        except msgspec.ValidationError as problem:
            raise CredentialsError(f"{path} is not a kubeconfig: {problem}") from None
        self._users: Mapping[str, _User] = {named.name: named.user for named in document.users}
        current = [item.context.user for item in document.contexts if item.name == document.current_context]
        self._current = current[0] if current else ""
        for name in self._users:
            try:
                self._credentials(name).load(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
            except CredentialsError as problem:
                prefix = "" if str(path) in str(problem) else f"{path}: the user {name!r}: "
                raise CredentialsError(f"{prefix}{problem}") from None

    def of(self, host: str, port: int) -> Credentials:
        """The credentials for the webhook at ``host``:``port``. A token in a file is read at each call.

        Raises:
            CredentialsError: a file that the user names can't be read.
        """
        names = _names(f"{host}:{port}")
        if port == 443:
            names += _names(host)
        user = next((name for name in (*names, "*", self._current) if name in self._users), None)
        return NO_CREDENTIALS if user is None else self._credentials(user)

    def _credentials(self, name: str) -> Credentials:
        user = self._users[name]
        if user.exec is not None or user.auth_provider is not None:
            raise CredentialsError(
                f"{self._path}: the user {name!r} runs a program for its credentials, which is not supported here: "
                "give it a certificate or a token"
            )
        certificate = self._content(name, user.client_certificate_data, user.client_certificate)
        key = self._content(name, user.client_key_data, user.client_key)
        if bool(certificate) != bool(key):
            raise CredentialsError(f"{self._path}: the user {name!r} needs both a client certificate and its key")
        token = user.token
        if not token and user.token_file:
            token = self._content(name, "", user.token_file).decode("utf-8", "replace").strip()
        if token:
            return Credentials(f"Bearer {token}", certificate, key)
        if user.username or user.password:
            pair = base64.b64encode(f"{user.username}:{user.password}".encode()).decode()
            return Credentials(f"Basic {pair}", certificate, key)
        return Credentials("", certificate, key)

    def _content(self, name: str, data: str, file: str) -> bytes:
        try:
            if data:
                return base64.b64decode(data, validate=True)
            return (self._path.parent / file).read_bytes() if file else b""
        except OSError as problem:
            raise CredentialsError(f"{self._path}: the user {name!r}: {problem.filename}: {problem.strerror}") from None
        except ValueError:
            raise CredentialsError(f"{self._path}: the user {name!r}: its data is not base64") from None


def _names(target: str) -> list[str]:
    labels = target.split(".")
    return [target, *("*." + ".".join(labels[start:]) for start in range(1, len(labels)))]
