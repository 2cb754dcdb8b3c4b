"""Authentication of requests: certificates, tokens of files, of service accounts, of bootstrapping and of providers."""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from tests.apiserver.harness import NOW, PODS, Answer, Api, pod, serving

from setpoint.apiserver import AccountTokens, Authentication, Peer, Request
from setpoint.apiserver.identity.certificates import certified
from setpoint.apiserver.identity.keys import (
    BadKeyError,
    PemKeys,
    PublicKey,
    SecretKey,
    check_signature,
    keys_of_jwks,
    make_key,
)
from setpoint.apiserver.identity.oidc import OidcProvider
from setpoint.apiserver.identity.provider_keys import ProviderKeys
from setpoint.apiserver.identity.static_tokens import read_tokens

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
SECRETS = "/api/v1/namespaces/default/secrets"
WHO_AM_I = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
ISSUER = "https://login.example.com"
CREDENTIAL = "authentication.kubernetes.io/credential-id"


class Clock:
    """The server's time, which tests move."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> Any:
        return self.now


@cache
def rsa_key() -> bytes:
    return _pem(rsa.generate_private_key(65537, 2048))


@cache
def curve_key(curve: type[ec.EllipticCurve]) -> bytes:
    return make_key() if curve is ec.SECP256R1 else _pem(ec.generate_private_key(curve()))


def _pem(key: Any) -> bytes:
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return bytes(key.private_bytes(encoding, form, serialization.NoEncryption()))


async def from_network(api: Api, token: str = "", *, peer: Peer | None = None, path: str = WHO_AM_I) -> Answer:
    """A request that did not begin in this process."""
    headers = {"authorization": f"Bearer {token}"} if token else {}
    method, body = ("POST", b"{}") if path == WHO_AM_I else ("GET", None)
    response = await api.server.handle(Request(method, path, (), headers, body, peer=peer or Peer("192.0.2.1")))
    return Answer(response.status, response.headers, response.body)


async def who(api: Api, token: str) -> Any:
    return (await from_network(api, token)).ok()["status"]["userInfo"]


async def token_for(api: Api, name: str = "robot", **spec: Any) -> str:
    answer = await api.post(f"{ACCOUNTS}/{name}/token", {"spec": spec})
    return str(answer.ok()["status"]["token"])


async def reviewed(api: Api, token: str, **spec: Any) -> Any:
    return (await api.post(REVIEWS, {"spec": {"token": token, **spec}})).ok()["status"]


def account(name: str = "robot") -> dict[str, Any]:
    return {"metadata": {"name": name}}


# -- requests ----------------------------------------------------------------------------------------------------------


async def test_a_request_from_the_network_without_credentials_is_anonymous_or_refused() -> None:
    async with serving(authentication=Authentication()) as api:
        result = await who(api, "")
        assert result == {"username": "system:anonymous", "groups": ["system:unauthenticated"]}
    async with serving(authentication=Authentication(anonymous=False)) as api:
        status = (await from_network(api)).failed(401, "Unauthorized")
        assert status["message"] == "Unauthorized"


@pytest.mark.parametrize(
    ("form", "accepted"),
    [
        ("Bearer {}", True),
        ("bEARER {}", True),
        (" Bearer {}\t", True),
        ("Bearer {} more", True),
        ("Bearer  {}", False),
        ("Bearer\t{}", False),
        ("Token {}", False),
        ("{}", False),
    ],
)
async def test_the_token_is_the_second_word_of_the_header_as_for_a_kube_apiserver(form: str, accepted: bool) -> None:
    async with serving(authentication=Authentication()) as api:
        await api.post(ACCOUNTS, account())
        headers = {"authorization": form.format(await token_for(api))}
        response = await api.server.handle(Request("POST", WHO_AM_I, (), headers, b"{}", peer=Peer("192.0.2.1")))
        user = Answer(response.status, response.headers, response.body).ok()["status"]["userInfo"]["username"]
        assert user == ("system:serviceaccount:default:robot" if accepted else "system:anonymous")


async def test_a_wrong_token_is_refused_and_never_anonymous() -> None:
    async with serving(authentication=Authentication()) as api:
        for token in ("nonsense", "a.b.c", "x" * 5000, "é"):
            (await from_network(api, token)).failed(401, "Unauthorized")


async def test_requests_in_this_process_need_no_credentials() -> None:
    async with serving(authentication=Authentication(anonymous=False)) as api:
        (await api.get(PODS)).ok()


async def test_a_certificate_says_who_the_client_is() -> None:
    subject = ((("organizationName", "dev"),), (("organizationName", "ops"),), (("commonName", "jane"),))
    user = certified({"subject": subject}, b"der")
    assert user is not None
    assert (user.name, user.groups) == ("jane", ("dev", "ops"))
    assert user.extra[CREDENTIAL][0].startswith("X509SHA256=")
    assert certified({"subject": ((("organizationName", "dev"),),)}, b"der") is None
    assert certified({}, None) is None
    async with serving(authentication=Authentication()) as api:
        answer = await from_network(api, peer=Peer("192.0.2.1", user))
        assert answer.ok()["status"]["userInfo"]["groups"] == ["dev", "ops", "system:authenticated"]


# -- files of tokens ---------------------------------------------------------------------------------------------------


async def test_tokens_of_a_file_have_the_users_and_groups_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "tokens.csv"
    path.write_text('abc,jane,7,"dev,ops"\n\ndef,joe,8\n')
    async with serving(authentication=Authentication(static=read_tokens(path))) as api:
        assert await who(api, "abc") == {
            "username": "jane",
            "uid": "7",
            "groups": ["dev", "ops", "system:authenticated"],
        }
        assert (await who(api, "def"))["groups"] == ["system:authenticated"]


@pytest.mark.parametrize(("text", "words"), [("a,b\n", "line 1: 2 columns"), ('x,y,z\n"a,b,c', "not a file of comma")])
def test_a_bad_file_of_tokens_is_named_with_its_line(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "tokens.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=words) as refused:
        read_tokens(path)
    assert str(path) in str(refused.value)


# -- service accounts --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["secret", "rsa", "secp256r1", "secp384r1", "secp521r1"])
async def test_a_token_of_a_service_account_is_known_again_whatever_signs_it(key: str) -> None:
    keys: Any
    if key == "secret":
        keys = SecretKey(b"s" * 32)
    elif key == "rsa":
        keys = PemKeys(rsa_key())
    else:
        curve = {"secp256r1": ec.SECP256R1, "secp384r1": ec.SECP384R1, "secp521r1": ec.SECP521R1}[key]
        keys = PemKeys(curve_key(curve))
    async with serving(authentication=Authentication(), account_tokens=AccountTokens(keys)) as api:
        (await api.post(ACCOUNTS, account())).ok()
        token = await token_for(api)
        result = await who(api, token)
        assert result["username"] == "system:serviceaccount:default:robot"
        assert result["groups"] == [
            *("system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated")
        ]
        head, body, signature = token.split(".")
        other = signature[:-8] + ("AAAAAAAA" if signature[-8:] != "AAAAAAAA" else "BBBBBBBB")
        assert "error in cryptographic primitive" in (await reviewed(api, f"{head}.{body}.{other}"))["error"]
        if keys.jwks:
            (public,) = keys_of_jwks(json.dumps({"keys": keys.jwks}).encode())
            check_signature(token, {"alg": keys.algorithms[0], "kid": public.id}, [public])


@pytest.mark.parametrize("key", ["secret", "rsa", "provider"])
async def test_only_the_token_itself_is_accepted_not_what_decodes_to_its_bytes(key: str) -> None:
    keys: Any = SecretKey(b"s" * 32) if key == "secret" else PemKeys(rsa_key())
    oidc = (provider(),) if key == "provider" else ()
    authentication = Authentication(oidc=oidc)
    async with serving(authentication=authentication, account_tokens=AccountTokens(keys)) as api:
        (await api.post(ACCOUNTS, account())).ok()
        token = identity() if oidc else await token_for(api)
        await who(api, token)
        head, body, signature = token.split(".")
        for changed in (
            f"{token}=",
            f"{token}==",
            f"{head}=.{body}.{signature}",
            f"{head}.{body}=.{signature}",
            f"{head}.{body}.{signature[:9]}!{signature[9:]}",
            f"{head}.{body}.{signature}.",
            f".{token}",
            f"{head}.{body}.",
            f"{head}.{body}",
        ):
            (await from_network(api, changed)).failed(401, "Unauthorized")


async def test_a_token_without_a_signature_or_signed_with_a_public_key_as_secret_is_refused() -> None:
    signing = rsa_key()
    keys = PemKeys(signing)
    async with serving(authentication=Authentication(), account_tokens=AccountTokens(keys)) as api:
        (await api.post(ACCOUNTS, account())).ok()
        token = await token_for(api)
        _, body, _ = token.split(".")
        jwk = json.dumps(keys.jwks[0]).encode()
        for algorithm in ("none", "None", "HS256", "RS512", "PS256", "ES256", ""):
            head = base64.urlsafe_b64encode(json.dumps({"alg": algorithm}).encode()).rstrip(b"=").decode()
            mac = hmac.digest(jwk, f"{head}.{body}".encode(), "sha256")
            signature = base64.urlsafe_b64encode(mac).rstrip(b"=").decode()
            (await from_network(api, f"{head}.{body}.{signature}")).failed(401, "Unauthorized")


async def test_keys_that_only_check_are_accepted_and_others_are_not() -> None:
    old, new, other = curve_key(ec.SECP256R1), rsa_key(), curve_key(ec.SECP384R1)
    async with serving(authentication=Authentication(), account_tokens=AccountTokens(PemKeys(new, [old]))) as api:
        uid = (await api.post(ACCOUNTS, account())).ok()["metadata"]["uid"]
        claims = {
            "aud": ["https://kubernetes.default.svc.cluster.local"],
            "kubernetes.io": {"namespace": "default", "serviceaccount": {"name": "robot", "uid": uid}},
        }
        assert (await who(api, AccountTokens(PemKeys(old)).sign(claims)))["uid"] == uid
        (await from_network(api, AccountTokens(PemKeys(other)).sign(claims))).failed(401, "Unauthorized")


@pytest.mark.parametrize(
    "odd",
    [
        {"exp": "1"}, {"exp": [1]}, {"nbf": "1"}, {"iat": {}}, {"aud": 5}, {"aud": [5]}, {"aud": {"a": 1}}, {"jti": 5},
        {"kubernetes.io": []}, {"kubernetes.io": {"serviceaccount": "robot"}}, {"kubernetes.io": {"namespace": 5}},
        {"kubernetes.io": {"pod": "p"}}, {"kubernetes.io": {"attestations": ["a"]}},
    ],
    ids=str,
)  # fmt: skip
async def test_a_signed_token_whose_claims_have_other_types_is_refused(odd: dict[str, Any]) -> None:
    """As in a kube-apiserver, which decodes the claims into its types."""
    keys = PemKeys(rsa_key())
    async with serving(authentication=Authentication(), account_tokens=AccountTokens(keys)) as api:
        uid = (await api.post(ACCOUNTS, account())).ok()["metadata"]["uid"]
        private = {"namespace": "default", "serviceaccount": {"name": "robot", "uid": uid}}
        claims: dict[str, Any] = {"aud": "https://kubernetes.default.svc.cluster.local", "kubernetes.io": private}
        assert (await who(api, AccountTokens(keys).sign(claims)))["uid"] == uid
        changed = {
            name: {**private, **value} if value and name == "kubernetes.io" else value for name, value in odd.items()
        }
        (await from_network(api, AccountTokens(keys).sign({**claims, **changed}))).failed(401, "Unauthorized")


async def test_a_token_ends_a_minute_after_its_time() -> None:
    clock = Clock()
    async with serving(authentication=Authentication(), now=clock) as api:
        (await api.post(ACCOUNTS, account())).ok()
        token = await token_for(api, expirationSeconds=600)
        clock.now = NOW + timedelta(seconds=659)
        await who(api, token)
        clock.now = NOW + timedelta(seconds=661)
        error = (await reviewed(api, token))["error"]
        assert error == "[invalid bearer token, service account token has expired]"


async def test_a_token_is_good_for_its_audiences_only() -> None:
    async with serving(authentication=Authentication()) as api:
        (await api.post(ACCOUNTS, account())).ok()
        token = await token_for(api, audiences=["vault"])
        (await from_network(api, token)).failed(401, "Unauthorized")
        assert (await reviewed(api, token, audiences=["vault", "x"]))["audiences"] == ["vault"]
        assert (await reviewed(api, token))["error"] == (
            '[invalid bearer token, token audiences ["vault"] is invalid for the target audiences '
            '["https://kubernetes.default.svc.cluster.local"]]'
        )


async def test_a_token_ends_with_what_it_is_bound_to() -> None:
    async with serving(authentication=Authentication()) as api:
        (await api.post(ACCOUNTS, account())).ok()
        (await api.post(SECRETS, {"metadata": {"name": "s"}})).ok()
        new_pod = (await api.post(PODS, pod(spec={"serviceAccountName": "robot", "nodeName": "n1"}))).ok()
        by_pod = await token_for(api, boundObjectRef={"kind": "Pod", "apiVersion": "v1", "name": "web"})
        by_secret = await token_for(api, boundObjectRef={"kind": "Secret", "apiVersion": "v1", "name": "s"})
        extra = (await who(api, by_pod))["extra"]
        assert extra["authentication.kubernetes.io/pod-name"] == ["web"]
        assert extra["authentication.kubernetes.io/pod-uid"] == [new_pod["metadata"]["uid"]]
        assert extra["authentication.kubernetes.io/node-name"] == ["n1"]
        (await api.delete(f"{SECRETS}/s")).ok()
        (await api.delete(f"{PODS}/web", gracePeriodSeconds=0)).ok()
        for token in (by_pod, by_secret):
            assert (await reviewed(api, token))["error"] == (
                "[invalid bearer token, service account token has been invalidated]"
            )
        free = await token_for(api)
        (await api.delete(f"{ACCOUNTS}/robot")).ok()
        assert (await reviewed(api, free))["error"] == '[invalid bearer token, serviceaccounts "robot" not found]'


async def test_a_token_is_not_bound_to_what_it_can_not_be() -> None:
    async with serving() as api:
        (await api.post(ACCOUNTS, account())).ok()
        (await api.post(PODS, pod())).ok()
        path = f"{ACCOUNTS}/robot/token"

        async def bind(**reference: str) -> Answer:
            return await api.post(path, {"spec": {"boundObjectRef": {"apiVersion": "v1", **reference}}})

        (await bind(kind="Pod", name="none")).failed(404, "NotFound", 'pods "none" not found')
        (await bind(kind="Pod", name="web")).failed(400, "BadRequest", "pod running with different serviceaccount name")
        (await bind(kind="ConfigMap", name="x")).failed(400, "BadRequest", "/v1, Kind=ConfigMap")
        (await api.post(SECRETS, {"metadata": {"name": "s"}})).ok()
        (await bind(kind="Secret", name="s", uid="other")).failed(409, "Conflict", "the UID in the bound object")
        (await api.post(path, {"metadata": {"name": "y"}, "spec": {}})).failed(422, "Invalid", "must match the service")


# -- bootstrap tokens --------------------------------------------------------------------------------------------------


def bootstrap_secret(**changed: str) -> dict[str, Any]:
    data = {
        "token-id": "abcdef",
        "token-secret": "0123456789abcdef",
        "usage-bootstrap-authentication": "true",
        "auth-extra-groups": "system:bootstrappers:workers",
        **changed,
    }
    return {
        "metadata": {"name": "bootstrap-token-abcdef"},
        "type": "bootstrap.kubernetes.io/token",
        "stringData": data,
    }


async def test_a_bootstrap_token_is_of_its_groups_until_it_expires() -> None:
    clock = Clock()
    path = "/api/v1/namespaces/kube-system/secrets"
    async with serving(authentication=Authentication(), now=clock) as api:
        (await api.post(path, bootstrap_secret(expiration="2026-01-31T13:00:00Z"))).ok()
        assert await who(api, "abcdef.0123456789abcdef") == {
            "username": "system:bootstrap:abcdef",
            "groups": ["system:bootstrappers", "system:bootstrappers:workers", "system:authenticated"],
        }
        (await from_network(api, "abcdef.0123456789abcdee")).failed(401, "Unauthorized")
        clock.now = NOW + timedelta(hours=1)
        (await from_network(api, "abcdef.0123456789abcdef")).failed(401, "Unauthorized")


@pytest.mark.parametrize(
    "changed",
    [
        {"usage-bootstrap-authentication": "false"},
        {"auth-extra-groups": "system:masters"},
        {"token-id": "fedcba"},
    ],
)
async def test_a_bootstrap_token_that_is_not_for_authentication_is_refused(changed: dict[str, str]) -> None:
    async with serving(authentication=Authentication()) as api:
        (await api.post("/api/v1/namespaces/kube-system/secrets", bootstrap_secret(**changed))).ok()
        (await from_network(api, "abcdef.0123456789abcdef")).failed(401, "Unauthorized")


# -- providers ---------------------------------------------------------------------------------------------------------


def provider(**options: Any) -> OidcProvider:
    return OidcProvider(ISSUER, "kube", ProviderKeys(public(rsa_key())), **options)


def public(key: bytes) -> list[PublicKey]:
    return keys_of_jwks(json.dumps({"keys": PemKeys(key).jwks}).encode())


def identity(key: bytes = b"", **claims: Any) -> str:
    given = {"iss": ISSUER, "aud": "kube", "sub": "7", "exp": NOW.timestamp() + 86400, **claims}
    return PemKeys(key or rsa_key()).sign(given)


class Provider:
    """A provider that changes its keys; it counts how often it is asked, and may not answer."""

    def __init__(self) -> None:
        self.keys = public(rsa_key())
        self.asked = 0
        self.silent = False
        self.clock = Clock()

    async def fetch(self) -> list[PublicKey]:
        self.asked += 1
        await asyncio.sleep(0)
        if self.silent:
            raise BadKeyError("no answer in 10 s")
        return self.keys

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Api]:
        oidc_provider = OidcProvider(ISSUER, "kube", ProviderKeys(self.keys, self.fetch), algorithms=("RS256", "ES256"))
        async with serving(authentication=Authentication(oidc=[oidc_provider]), now=self.clock) as api:
            yield api


async def test_a_new_key_of_a_provider_is_fetched_for_the_first_token_that_names_it() -> None:
    provider, new = Provider(), make_key()
    async with provider.serving() as api:
        await who(api, identity())
        assert provider.asked == 0
        provider.keys = public(new)
        answers = await asyncio.gather(*(from_network(api, identity(new)) for _ in range(5)))
        assert [answer.status for answer in answers] == [201] * 5
        assert provider.asked == 1, "one fetch serves all that wait for it"
        assert (await reviewed(api, identity(new)))["authenticated"]
        (await from_network(api, identity())).failed(401, "Unauthorized")
        assert provider.asked == 1, "tokens with unknown keys do not make the server ask all the time"
        provider.clock.now += timedelta(seconds=10)
        (await from_network(api, identity())).failed(401, "Unauthorized")
        assert provider.asked == 2


async def test_a_review_may_need_a_new_key_too() -> None:
    provider, new = Provider(), make_key()
    async with provider.serving() as api:
        provider.keys = public(new)
        assert (await reviewed(api, identity(new)))["authenticated"]


async def test_keys_that_a_provider_has_given_up_are_not_good_for_ever() -> None:
    provider = Provider()
    async with provider.serving() as api:
        await who(api, identity())
        provider.silent = True
        provider.clock.now += timedelta(hours=1)
        await who(api, identity())
        assert provider.asked == 1, "a provider without an answer changes nothing"
        provider.silent, provider.keys = False, public(make_key())
        provider.clock.now += timedelta(seconds=10)
        (await from_network(api, identity())).failed(401, "Unauthorized")
        assert provider.asked == 2


@pytest.mark.parametrize(
    ("options", "claims", "name", "groups"),
    [
        ({}, {}, f"{ISSUER}#7", []),
        ({"username_claim": "email"}, {"email": "j@x.com", "email_verified": True}, "j@x.com", []),
        ({"username_prefix": "-"}, {}, "7", []),
        ({"username_prefix": "oidc:", "groups_claim": "g", "groups_prefix": "o:"}, {"g": ["a", "b"]}, "oidc:7",
         ["o:a", "o:b"]),
        ({"groups_claim": "g", "required_claims": {"hd": "x"}}, {"g": "one", "hd": "x"}, f"{ISSUER}#7", ["one"]),
        ({}, {"aud": ["other", "kube"]}, f"{ISSUER}#7", []),
    ],
)  # fmt: skip
async def test_claims_of_an_identity_token_say_who_it_is(
    options: dict[str, Any], claims: dict[str, Any], name: str, groups: list[str]
) -> None:
    async with serving(authentication=Authentication(oidc=[provider(**options)])) as api:
        result = await who(api, identity(**claims))
    assert (result["username"], result["groups"]) == (name, [*groups, "system:authenticated"])


@pytest.mark.parametrize(
    ("options", "claims", "words"),
    [
        ({}, {"aud": "other"}, "expected audience"),
        ({}, {"exp": NOW.timestamp() - 1}, "expired"),
        ({}, {"exp": None}, "expired"),
        ({}, {"exp": str(NOW.timestamp() - 1)}, "expired"),
        ({}, {"exp": "nan"}, "is not a number"),
        ({}, {"exp": [1]}, "is not a number"),
        ({}, {"nbf": NOW.timestamp() + 3600}, "not valid yet"),
        ({}, {"nbf": str(NOW.timestamp() + 3600)}, "not valid yet"),
        ({}, {"nbf": "soon"}, "is not a number"),
        ({"username_claim": "email"}, {"email": "j@x.com", "email_verified": False}, "email not verified"),
        ({"username_claim": "name"}, {}, "claim not present"),
        ({"groups_claim": "g"}, {"g": [1]}, "not a string or list of strings"),
        ({"required_claims": {"hd": "x"}}, {}, "required claim hd"),
        ({"algorithms": ("ES256",)}, {}, "not accepted"),
        ({}, {"iss": "https://elsewhere"}, "invalid bearer token"),
    ],
)
async def test_an_identity_token_that_does_not_fit_is_refused(
    options: dict[str, Any], claims: dict[str, Any], words: str
) -> None:
    async with serving(authentication=Authentication(oidc=[provider(**options)])) as api:
        token = identity(**claims)
        (await from_network(api, token)).failed(401, "Unauthorized")
        assert words in (await reviewed(api, token))["error"]


async def test_a_token_without_a_signature_is_refused() -> None:
    _, body, _ = identity().split(".")
    head = base64.urlsafe_b64encode(b'{"alg":"none"}').rstrip(b"=").decode()
    options: dict[str, Any] = {"algorithms": ("none", "RS256")}
    async with serving(authentication=Authentication(oidc=[provider(**options)])) as api:
        (await from_network(api, f"{head}.{body}.")).failed(401, "Unauthorized")


@pytest.mark.parametrize("text", [b"", b"[]", b'{"keys": 1}', b'{"keys": [{"kty": "RSA"}]}'])
def test_a_bad_key_set_is_refused_in_one_line(text: bytes) -> None:
    with pytest.raises(BadKeyError, match="not a JSON web key set"):
        keys_of_jwks(text)


@pytest.mark.parametrize("text", [b"", b"nonsense", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"])
def test_a_bad_signing_key_is_refused_in_one_line(text: bytes) -> None:
    with pytest.raises(BadKeyError, match="not an unencrypted private key"):
        PemKeys(text)
