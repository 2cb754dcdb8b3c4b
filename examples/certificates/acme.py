"""acme.py: a client of ACME servers (RFC 8555): signed requests, nonces, problem documents. Nothing here knows of
Kubernetes, and nothing is remembered that an ACME server does not say again."""

import base64
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple, Protocol

import aiohttp
import msgspec
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import load_pem_x509_csr
from signing import Unusable, loaded

TIMEOUT = 20.0
"""Seconds for which an answer is waited for."""
ATTEMPTS = 4
"""Times that a request is sent whose nonce the server does not know any more."""


class Signed(msgspec.Struct, frozen=True):
    """The body of a request: a JSON Web Signature in flattened serialization (RFC 7515)."""

    protected: str
    payload: str
    signature: str

    def __repr__(self) -> str:
        return "Signed"


class Reply(NamedTuple):
    """The answer of a server; the names of its headers are in lower case."""

    code: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def wait(self) -> float:
        """The seconds that the server asks to wait, 0 if it does not mention it. A date counts from the reply's own,
        so the clock of this machine does not matter."""
        header = self.headers.get("retry-after", "")
        if header.isdecimal():
            return float(header)
        try:
            pause = parsedate_to_datetime(header) - parsedate_to_datetime(self.headers.get("date", ""))
        except (ValueError, TypeError):
            return 0.0
        return max(pause.total_seconds(), 0.0)


class Http(Protocol):
    """The way to ACME servers."""

    async def request(self, method: str, url: str, body: Signed | None = None) -> Reply:
        """The answer to a request. Raises OSError if none came, whether or not the request was carried out."""
        ...


class Web:
    """The way to ACME servers over the network."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def request(self, method: str, url: str, body: Signed | None = None) -> Reply:
        headers = {"Content-Type": "application/jose+json"} if body is not None else {}
        data, limit = msgspec.json.encode(body) if body is not None else None, aiohttp.ClientTimeout(TIMEOUT)
        try:
            async with self._session.request(method, url, data=data, headers=headers, timeout=limit) as answer:
                fields = {name.lower(): value for name, value in answer.headers.items()}
                return Reply(answer.status, fields, await answer.read())
        except aiohttp.ClientError as problem:
            raise ConnectionError(str(problem) or type(problem).__name__) from problem


class Document(msgspec.Struct):
    """A problem document (RFC 7807)."""

    type: str = "about:blank"
    detail: str = ""


class Problem(Exception):
    """An error that a server answers with. ``kind`` is its name in RFC 8555, such as ``rateLimited``."""

    def __init__(self, reply: Reply) -> None:
        try:
            document = msgspec.json.decode(reply.body, type=Document)
        except msgspec.DecodeError:
            document = Document()
        self.code, self.wait = reply.code, reply.wait
        self.kind = document.type.removeprefix("urn:ietf:params:acme:error:")
        super().__init__(f"{document.detail or 'no detail'} ({self.kind}, status {reply.code})")


class Directory(msgspec.Struct, rename="camel"):
    new_nonce: str
    new_account: str
    new_order: str


class Identifier(msgspec.Struct, frozen=True, order=True):
    type: str
    value: str


class Challenge(msgspec.Struct):
    type: str
    url: str
    status: str = "pending"
    token: str = ""
    error: Document | None = None


class Authorization(msgspec.Struct):
    identifier: Identifier
    status: str
    challenges: list[Challenge]

    def over_http(self) -> Challenge:
        """The challenge that is answered by an HTTP server (RFC 8555, 8.3). Raises `Unusable`."""
        for challenge in self.challenges:
            if challenge.type == "http-01":
                return challenge
        raise Unusable(f"the ACME server offers no http-01 challenge for {self.identifier.value}")


class Order(msgspec.Struct):
    status: str
    identifiers: list[Identifier]
    authorizations: list[str]
    finalize: str
    expires: datetime | None = None
    certificate: str = ""
    error: Document | None = None
    wait: float = 0.0
    """The seconds that the server asks to wait before the order is looked at again."""


class Known(msgspec.Struct):
    """The part of an account that matters here: the URL of the list of its orders, which not every server has."""

    orders: str = ""


class Orders(msgspec.Struct):
    orders: list[str]


@dataclass(frozen=True)
class Account:
    """An account: the URL of its server's directory, its private key, and its own URL once it is registered."""

    server: str
    key: bytes = field(repr=False)
    url: str = ""


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def jwk_of(key: ec.EllipticCurvePublicKey) -> dict[str, str]:
    """The public key as RFC 7517 has it; its members are in the order that RFC 7638 hashes them in."""
    numbers = key.public_numbers()
    return {"crv": "P-256", "kty": "EC", "x": encoded(numbers.x.to_bytes(32)), "y": encoded(numbers.y.to_bytes(32))}


def private_key(account: Account) -> ec.EllipticCurvePrivateKey:
    key = loaded(account.key)
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.key_size != 256:
        raise Unusable("the key of an ACME account has to be ECDSA on P-256")
    return key


def key_authorization(account: Account, token: str) -> str:
    """The answer to a challenge: the token and the thumbprint of the account's key. It is public."""
    jwk = msgspec.json.encode(jwk_of(private_key(account).public_key()))
    return f"{token}.{encoded(hashlib.sha256(jwk).digest())}"


def signed(account: Account, url: str, nonce: str, payload: Any) -> Signed:
    """A request for ``url``. ``payload`` None is a POST-as-GET (RFC 8555, 6.3).

    That is all of JOSE that ACME needs, so a library of it would be more to read than this."""
    key = private_key(account)
    identity = {"kid": account.url} if account.url else {"jwk": jwk_of(key.public_key())}
    protected = encoded(msgspec.json.encode({"alg": "ES256", "nonce": nonce, "url": url, **identity}))
    content = encoded(msgspec.json.encode(payload)) if payload is not None else ""
    r, s = decode_dss_signature(key.sign(f"{protected}.{content}".encode(), ec.ECDSA(hashes.SHA256())))
    return Signed(protected, content, encoded(r.to_bytes(32) + s.to_bytes(32)))


class Acme:
    """The client. Directories and nonces are kept in memory, so that most requests are one round trip.

    Every method raises `Problem` for an error that the server answers with, and OSError if no answer came; the request
    may have been carried out then.
    """

    def __init__(self, http: Http) -> None:
        self._http = http
        self._directories: dict[str, Directory] = {}
        self._nonces: dict[str, list[str]] = {}

    async def register(self, account: Account, contact: list[str]) -> str:
        """The URL of the account of this key, which is made if there is none."""
        url = (await self._directory(account)).new_account
        reply = await self._post(account, url, {"termsOfServiceAgreed": True, "contact": contact})
        return reply.headers["location"]

    async def orders(self, account: Account) -> list[str]:
        """The URLs of the account's orders; none if the server does not list them."""
        urls: list[str] = []
        page = msgspec.json.decode((await self._post(account, account.url)).body, type=Known).orders
        while page:
            reply = await self._post(account, page)
            urls += msgspec.json.decode(reply.body, type=Orders).orders
            following = re.search(r'<([^>]+)>\s*;\s*rel="?next"?', reply.headers.get("link", ""))
            page = following[1] if following else ""
        return urls

    async def new_order(self, account: Account, identifiers: list[Identifier]) -> tuple[str, Order]:
        reply = await self._post(account, (await self._directory(account)).new_order, {"identifiers": identifiers})
        return reply.headers["location"], self._order(reply)

    async def order(self, account: Account, url: str) -> Order:
        return self._order(await self._post(account, url))

    async def authorization(self, account: Account, url: str) -> Authorization:
        return msgspec.json.decode((await self._post(account, url)).body, type=Authorization)

    async def answer(self, account: Account, challenge: Challenge) -> None:
        """Says that the answer to a challenge is published."""
        await self._post(account, challenge.url, {})

    async def finalize(self, account: Account, order: Order, request: bytes) -> Order:
        """The order after a certificate was asked for, by a certificate signing request as PEM."""
        der = load_pem_x509_csr(request).public_bytes(Encoding.DER)
        return self._order(await self._post(account, order.finalize, {"csr": encoded(der)}))

    async def certificate(self, account: Account, order: Order) -> bytes:
        """The certificate and its chain, as PEM."""
        return (await self._post(account, order.certificate)).body

    def _order(self, reply: Reply) -> Order:
        order = msgspec.json.decode(reply.body, type=Order)
        order.wait = reply.wait
        return order

    async def _directory(self, account: Account) -> Directory:
        directory = self._directories.get(account.server)
        if directory is None:
            reply = await self._http.request("GET", account.server)
            if reply.code >= 400:
                raise Problem(reply)
            directory = self._directories[account.server] = msgspec.json.decode(reply.body, type=Directory)
        return directory

    async def _post(self, account: Account, url: str, payload: Any = None) -> Reply:
        attempts = ATTEMPTS
        while True:
            reply = await self._http.request("POST", url, signed(account, url, await self._nonce(account), payload))
            self._keep(account, reply)
            attempts -= 1
            if reply.code < 400:
                return reply
            problem = Problem(reply)
            if problem.kind != "badNonce" or not attempts:
                raise problem

    async def _nonce(self, account: Account) -> str:
        if not self._nonces.get(account.server):
            reply = await self._http.request("HEAD", (await self._directory(account)).new_nonce)
            self._keep(account, reply)
            if reply.code >= 400 or not self._nonces.get(account.server):
                raise Problem(reply)
        return self._nonces[account.server].pop()

    def _keep(self, account: Account, reply: Reply) -> None:
        """The nonce of a reply is for the next request: the newest is the last that a server forgets."""
        if nonce := reply.headers.get("replay-nonce"):
            self._nonces[account.server] = [*self._nonces.get(account.server, []), nonce][-8:]
