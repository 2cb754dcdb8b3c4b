"""fakeacme.py: an ACME server (RFC 8555) in memory, for tests and trying out. It checks what a real one checks: nonces,
signatures, the answers to challenges, names in requests; and it has the moods of one.

python examples/certificates/fakeacme.py run --port 14000 --answers 127.0.0.1:8089
"""

import argparse
import asyncio
import base64
import contextlib
import hashlib
import ipaddress
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import aiohttp
import msgspec
from acme import Reply, Signed, encoded
from aiohttp import web
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from signing import Names, Pair, chain, loaded, new_key, sign, usage_of

Look = Callable[[str, str], Awaitable[str]]
"""The text that a host shows for the token of a challenge. Raises OSError if it can't be reached."""


class Refusal(Exception):
    """An answer with a problem document."""

    def __init__(self, code: int, kind: str, detail: str, wait: int = 0) -> None:
        super().__init__(detail)
        self.code, self.kind, self.wait = code, kind, wait


class Request(NamedTuple):
    """A request whose signature is right: the account that it is from, and its payload; None for a POST-as-GET."""

    account: str
    payload: Any


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def public_key(jwk: dict[str, str]) -> ec.EllipticCurvePublicKey:
    x, y = (int.from_bytes(decoded(jwk[coordinate])) for coordinate in "xy")
    return ec.EllipticCurvePublicNumbers(x, y, ec.SECP256R1()).public_key()


def thumbprint(jwk: dict[str, str]) -> str:
    required = {name: jwk[name] for name in ("crv", "kty", "x", "y")}
    return encoded(hashlib.sha256(msgspec.json.encode(required)).digest())


async def nowhere(host: str, token: str) -> str:
    raise ConnectionRefusedError(f"{host} can't be reached")


class FakeAcme:
    """The server. Its objects are plain values, by their URLs; time passes by the clock that it is given."""

    def __init__(self, now: Callable[[], datetime], look: Look = nowhere, base: str = "https://acme.test") -> None:
        self.now, self.look, self.base = now, look, base
        self.life = timedelta(days=90)
        self.expires = timedelta(days=7)
        """The time that an order may take."""
        self.validation = timedelta(seconds=2)
        """The time from the answer to a challenge until the server looks."""
        self.processing = timedelta(seconds=4)
        """The time from the request for a certificate until it is there."""
        self.limit = 100
        """The number of orders that an account may make in an hour."""
        self.moods: list[str] = []
        """The fates of the next signed requests, one each: ``badNonce``, ``serverInternal``, ``lost``, ``refused``
        or ``""`` for nothing."""
        self.every: dict[int, str] = {}
        """The fate of every N-th signed request."""
        self.requests = self.drawn = self.count = 0
        """The signed requests, the nonces and the orders so far."""
        self.nonces: set[str] = set()
        self.accounts: dict[str, dict[str, Any]] = {}
        self.orders: dict[str, dict[str, Any]] = {}
        self.authorizations: dict[str, dict[str, Any]] = {}
        self.certificates: dict[str, str] = {}
        names = Names("Fake ACME", (), (), True, ())
        self.authority = sign(new_key("ECDSA", 256), names, None, now(), timedelta(days=3650))

    # -- one request ---------------------------------------------------------------------------------------------------

    async def request(self, method: str, url: str, body: Signed | None = None) -> Reply:
        mood = ""
        if body is not None:
            self.requests += 1
            mood = next((candidate for number, candidate in self.every.items() if self.requests % number == 0), "")
            mood = self.moods.pop(0) if self.moods else mood
        if mood == "refused":
            raise ConnectionRefusedError("connection refused")
        try:
            code, headers, content = await self._answer(method, url, body, mood)
        except Refusal as refusal:
            kind = f"urn:ietf:params:acme:error:{refusal.kind}"
            problem = {"type": kind, "detail": str(refusal), "status": refusal.code}
            headers = {"content-type": "application/problem+json"}
            if refusal.wait:
                headers["retry-after"] = str(refusal.wait)
            code, content = refusal.code, msgspec.json.encode(problem)
        if mood == "lost":
            raise ConnectionResetError("the connection was closed before the answer came")
        return Reply(code, {**headers, "replay-nonce": self._nonce()} if method != "GET" else headers, content)

    async def _answer(self, method: str, url: str, body: Signed | None, mood: str) -> tuple[int, dict[str, str], bytes]:
        path = url.removeprefix(self.base)
        if method == "GET" and path == "/directory":
            names = ("newNonce", "newAccount", "newOrder")
            return 200, {}, msgspec.json.encode({name: f"{self.base}/{name}" for name in names})
        if method == "HEAD" and path == "/newNonce":
            return 200, {}, b""
        if body is None:
            raise Refusal(405, "malformed", f"{method} {path}: only signed requests are answered")
        request_ = self._checked(url, body, mood)
        if mood == "serverInternal":
            raise Refusal(503, "serverInternal", "the server is busy")
        if path == "/newAccount":
            return self._account(body)
        self._owned(request_, url)
        if path == "/newOrder":
            return self._new_order(request_)
        if path.startswith("/orders/"):
            own = [link for link, order in self.orders.items() if order["account"] == request_.account]
            return 200, {}, msgspec.json.encode({"orders": [link for link in own if self.status(link) != "invalid"]})
        if path.startswith("/account/"):
            orders = request_.account.replace("/account/", "/orders/")
            return 200, {}, msgspec.json.encode({"status": "valid", "orders": orders})
        if path.startswith("/order/"):
            return await self._order(url)
        if path.startswith("/finalize/"):
            await self._finalize(url.replace("/finalize/", "/order/"), request_.payload)
            return await self._order(url.replace("/finalize/", "/order/"))
        if path.startswith("/authz/"):
            await self._validate(url)
            return 200, {}, msgspec.json.encode(self._authorization_body(url))
        if path.startswith("/challenge/"):
            authorization = self.authorizations[url.replace("/challenge/", "/authz/")]
            if authorization["status"] == "pending" and authorization["asked"] is None:
                authorization["asked"] = self.now()
            challenge_body = self._authorization_body(url.replace("/challenge/", "/authz/"))
            return 200, {}, msgspec.json.encode(challenge_body["challenges"][0])
        return 200, {"content-type": "application/pem-certificate-chain"}, self.certificates[url].encode()

    def _checked(self, url: str, body: Signed, mood: str) -> Request:
        protected: dict[str, Any] = msgspec.json.decode(decoded(body.protected))
        if mood == "badNonce" or protected["nonce"] not in self.nonces:
            raise Refusal(400, "badNonce", "the nonce is not known")
        self.nonces.discard(protected["nonce"])
        if protected["url"] != url or protected["alg"] != "ES256" or ("jwk" in protected) is ("kid" in protected):
            raise Refusal(400, "malformed", "the protected header does not fit the request")
        is_new = url == f"{self.base}/newAccount"
        if is_new is not ("jwk" in protected):
            raise Refusal(400, "malformed", "only a new account shows its key")
        if not is_new and protected["kid"] not in self.accounts:
            raise Refusal(400, "accountDoesNotExist", f"there is no account {protected['kid']}")
        jwk: dict[str, str] = protected["jwk"] if is_new else self.accounts[protected["kid"]]["jwk"]
        both = decoded(body.signature)
        signature = encode_dss_signature(int.from_bytes(both[:32]), int.from_bytes(both[32:]))
        try:
            data = f"{body.protected}.{body.payload}".encode()
            public_key(jwk).verify(signature, data, ec.ECDSA(hashes.SHA256()))
        except InvalidSignature:
            raise Refusal(403, "unauthorized", "the signature is wrong") from None
        account = f"{self.base}/account/{thumbprint(jwk)[:12]}"
        return Request(account, msgspec.json.decode(decoded(body.payload)) if body.payload else None)

    def _owned(self, request: Request, url: str) -> None:
        kind, _, name = url.removeprefix(f"{self.base}/").partition("/")
        if not name:
            return
        order = f"{self.base}/order/{name.split('-')[0]}"
        if kind in ("account", "orders"):
            is_there, owner = True, f"{self.base}/account/{name}"
        else:
            is_there, owner = order in self.orders, self.orders.get(order, {}).get("account", "")
        if not is_there:
            raise Refusal(404, "malformed", f"there is no {kind} {name}")
        if owner != request.account:
            raise Refusal(403, "unauthorized", "this is another account's")

    # -- objects -------------------------------------------------------------------------------------------------------

    def _account(self, body: Signed) -> tuple[int, dict[str, str], bytes]:
        jwk: dict[str, str] = msgspec.json.decode(decoded(body.protected))["jwk"]
        url = f"{self.base}/account/{thumbprint(jwk)[:12]}"
        code = 200 if url in self.accounts else 201
        self.accounts.setdefault(url, {"jwk": jwk})
        return code, {"location": url}, msgspec.json.encode({"status": "valid"})

    def _new_order(self, request: Request) -> tuple[int, dict[str, str], bytes]:
        now, identifiers = self.now(), request.payload["identifiers"]
        if refused := [identifier["value"] for identifier in identifiers if identifier["value"].endswith(".invalid")]:
            raise Refusal(400, "rejectedIdentifier", f"no certificates are issued for {refused[0]}")
        hour = [order["made"] for order in self.orders.values() if order["account"] == request.account]
        hour = sorted(moment for moment in hour if moment > now - timedelta(hours=1))
        if len(hour) >= self.limit:
            wait = int((hour[-self.limit] + timedelta(hours=1) - now).total_seconds()) + 1
            raise Refusal(429, "rateLimited", f"{self.limit} orders an hour are enough", wait)
        self.count += 1
        number, url = self.count, f"{self.base}/order/{self.count}"
        authorizations: list[str] = []
        for place, identifier in enumerate(identifiers):
            authorizations.append(f"{self.base}/authz/{number}-{place}")
            token = encoded(hashlib.sha256(f"{number} {place}".encode()).digest())
            self.authorizations[authorizations[-1]] = {
                "identifier": identifier, "status": "pending", "token": token, "asked": None, "error": None,
                "account": request.account,
            }  # fmt: skip
        self.orders[url] = {
            "account": request.account, "made": now, "expires": now + self.expires, "identifiers": identifiers,
            "authorizations": authorizations, "csr": None, "certificate": "", "error": None,
        }  # fmt: skip
        return 201, {"location": url}, self._order_body(url)

    def status(self, url: str) -> str:
        """The status of an order, as RFC 8555 (7.1.6) says."""
        order = self.orders[url]
        states = {self.authorizations[link]["status"] for link in order["authorizations"]}
        if order["certificate"]:
            return "valid"
        if "invalid" in states or order["expires"] <= self.now() or order["error"]:
            return "invalid"
        if order["csr"] is not None:
            return "processing"
        return "ready" if states == {"valid"} else "pending"

    def _order_body(self, url: str) -> bytes:
        order = self.orders[url]
        body = {name: order[name] for name in ("expires", "identifiers", "authorizations")}
        body |= {"status": self.status(url), "finalize": url.replace("/order/", "/finalize/")}
        more = {name: order[name] for name in ("certificate", "error") if order[name]}
        return msgspec.json.encode(body | more)

    async def _order(self, url: str) -> tuple[int, dict[str, str], bytes]:
        order = self.orders[url]
        for link in order["authorizations"]:
            await self._validate(link)
        headers: dict[str, str] = {}
        if self.status(url) == "processing":
            delay = order["asked"] + self.processing - self.now()
            if delay <= timedelta(0):
                self._issue(url)
            else:
                headers["retry-after"] = str(int(delay.total_seconds()) + 1)
        return 200, headers, self._order_body(url)

    async def _validate(self, url: str) -> None:
        """Looks whether the host shows the answer, once its time has come."""
        authorization = self.authorizations[url]
        if (
            authorization["status"] != "pending"
            or authorization["asked"] is None
            or authorization["asked"] + self.validation > self.now()
        ):
            return
        expected = f"{authorization['token']}.{thumbprint(self.accounts[authorization['account']]['jwk'])}"
        host = authorization["identifier"]["value"]
        try:
            content = await self.look(host, authorization["token"])
        except OSError as problem:
            authorization["status"], authorization["error"] = "invalid", {"type": "connection", "detail": str(problem)}
            return
        if content == expected:
            authorization["status"] = "valid"
        else:
            detail = f"{host} does not show the key authorization"
            authorization["status"], authorization["error"] = "invalid", {"type": "unauthorized", "detail": detail}

    def _authorization_body(self, url: str) -> dict[str, Any]:
        authorization = self.authorizations[url]
        challenge = {"type": "http-01", "url": url.replace("/authz/", "/challenge/"), "token": authorization["token"]}
        challenge["status"] = (
            "processing" if authorization["status"] == "pending" and authorization["asked"] else authorization["status"]
        )
        if authorization["error"]:
            challenge["error"] = authorization["error"]
        return {"identifier": authorization["identifier"], "status": authorization["status"], "challenges": [challenge]}

    async def _finalize(self, url: str, payload: dict[str, str]) -> None:
        if self.status(url) != "ready":
            raise Refusal(403, "orderNotReady", f"the order is {self.status(url)}")
        request = x509.load_der_x509_csr(decoded(payload["csr"]))
        if not request.is_signature_valid:
            raise Refusal(400, "badCSR", "the signature of the request is wrong")
        order = self.orders[url]
        if names_in(request) != {identifier["value"] for identifier in order["identifiers"]}:
            raise Refusal(400, "badCSR", "the request is for other names than the order")
        order["csr"], order["asked"] = request.public_bytes(Encoding.PEM).decode(), self.now()

    def _issue(self, url: str) -> None:
        order = self.orders[url]
        request = x509.load_pem_x509_csr(order["csr"].encode())
        pem = issue(request, self.authority, self.now(), self.life)
        order["certificate"] = url.replace("/order/", "/certificate/")
        self.certificates[order["certificate"]] = (pem + self.authority.certificate).decode()

    def _nonce(self) -> str:
        self.drawn += 1
        nonce = encoded(hashlib.sha256(f"nonce {self.drawn}".encode()).digest()[:16])
        self.nonces.add(nonce)
        return nonce


def names_in(request: x509.CertificateSigningRequest) -> set[str]:
    """The names of the subject and of its alternatives."""
    names = {str(attribute.value) for attribute in request.subject.get_attributes_for_oid(NameOID.COMMON_NAME)}
    try:
        others = request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return names
    return names | {*others.get_values_for_type(x509.DNSName), *map(str, others.get_values_for_type(x509.IPAddress))}


def issue(request: x509.CertificateSigningRequest, authority: Pair, now: datetime, life: timedelta) -> bytes:
    """A server's certificate for a request."""
    begins, above = now.replace(microsecond=0), chain(authority.certificate)[0]
    others = x509.SubjectAlternativeName([general(name) for name in sorted(names_in(request))])
    builder = (
        x509.CertificateBuilder(subject_name=x509.Name([]), issuer_name=above.subject)
        .public_key(request.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(begins + life)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(usage_of({"digital_signature", "key_encipherment"}), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(others, critical=True)
    )
    return builder.sign(loaded(authority.key), hashes.SHA256()).public_bytes(Encoding.PEM)


def general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


# -- the program -------------------------------------------------------------------------------------------------------


async def serve(port: int, answers: str) -> None:
    """Serves on ``port``. All names are taken to be at the address ``answers``."""
    async with aiohttp.ClientSession() as session:

        async def look(host: str, token: str) -> str:
            url = f"http://{answers}/.well-known/acme-challenge/{token}"
            try:
                async with session.get(url, headers={"Host": host}) as answer:
                    return await answer.text()
            except aiohttp.ClientError as problem:
                raise ConnectionError(str(problem)) from problem

        fake = FakeAcme(lambda: datetime.now(UTC), look, f"http://127.0.0.1:{port}")

        async def handle(request: web.Request) -> web.Response:
            body = msgspec.json.decode(await request.read(), type=Signed) if request.method == "POST" else None
            reply = await fake.request(request.method, str(request.url), body)
            return web.Response(status=reply.code, headers=dict(reply.headers), body=reply.body)

        app = web.Application()
        app.router.add_route("*", "/{path:.*}", handle)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        print(f"ACME server: {fake.base}/directory", flush=True)
        try:
            await asyncio.Event().wait()
        finally:
            await runner.cleanup()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=["run"])
    parser.add_argument("--port", type=int, default=14000)
    parser.add_argument("--answers", default="127.0.0.1:8089")
    options = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(options.port, options.answers))
