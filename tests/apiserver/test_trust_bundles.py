"""ClusterTrustBundles: names by signers, certificates in PEM, and the permission to speak for a signer.

Each answer was compared with that of a kube-apiserver of 1.37.
"""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from tests.apiserver.harness import PODS, Api, pod, serving
from tests.apiserver.test_access import allow, as_, guarded, rule

BUNDLES = "/apis/certificates.k8s.io/v1/clustertrustbundles"
GROUP = "certificates.k8s.io"


def certificate(name: str) -> str:
    key = ed25519.Ed25519PrivateKey.generate()
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    result = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(begin)
        .not_valid_after(begin + timedelta(days=1))
        .sign(key, None)
    )
    return result.public_bytes(Encoding.PEM).decode()


A, B = certificate("a"), certificate("b")
LINES = A.splitlines()


def encoded(content: bytes, kind: str = "CERTIFICATE", head: str = "") -> str:
    return f"-----BEGIN {kind}-----\n{head}{base64.b64encode(content).decode()}\n-----END {kind}-----\n"


DER = base64.b64decode("".join(LINES[1:-1]))


def bundle(name: str, signer: str = "", text: str = A, **metadata: Any) -> dict[str, Any]:
    spec = {"trustBundle": text, **({"signerName": signer} if signer else {})}
    return {"metadata": {"name": name, **metadata}, "spec": spec}


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with serving() as api:
        yield api


@pytest.mark.parametrize(
    ("name", "signer"),
    [("plain", ""), ("s.com:x:one", "s.com/x"), ("t.org:x.y:two.z", "t.org/x.y"), ("s.com:x:" + "a" * 253, "s.com/x")],
)
async def test_a_bundles_name_begins_with_its_signers(api: Api, name: str, signer: str) -> None:
    new_bundle = (await api.post(BUNDLES, bundle(name, signer))).ok()
    assert new_bundle["metadata"]["name"] == name
    assert (await api.get(f"{BUNDLES}/{name}")).ok()["spec"] == new_bundle["spec"]


@pytest.mark.parametrize(
    ("name", "signer", "words"),
    [
        ("one", "s.com/x", '"one": ClusterTrustBundle for signerName s.com/x must be named with prefix s.com:x:'),
        ("s.com:x:a", "t.com/x", "must be named with prefix t.com:x:"),
        ("s.com:x:", "s.com/x", 'metadata.name: Invalid value: "s.com:x:": a lowercase RFC 1123 subdomain'),
        ("s.com:x:a:b", "s.com/x", "a lowercase RFC 1123 subdomain"),
        ("s.com:x:" + "a" * 254, "s.com/x", "must be no more than 253"),
        ("a:b", "", '"a:b": ClusterTrustBundle without signer name must not have ":" in its name'),
        ("A", "", "a lowercase RFC 1123 subdomain"),
    ],
)
async def test_a_name_that_is_not_its_signers_is_refused(api: Api, name: str, signer: str, words: str) -> None:
    status = (await api.post(BUNDLES, bundle(name, signer))).failed(422, "Invalid", words)
    assert [cause["field"] for cause in status["details"]["causes"]] == ["metadata.name"]


async def test_generated_names_follow_the_same_rule(api: Api) -> None:
    new_bundle = bundle("", "s.com/x", generateName="s.com:x:g-")
    assert (await api.post(BUNDLES, new_bundle)).ok()["metadata"]["name"].startswith("s.com:x:g-")
    status = (await api.post(BUNDLES, bundle("", "s.com/x", generateName="s.com:y:g-"))).failed(422, "Invalid")
    assert [cause["field"] for cause in status["details"]["causes"]] == ["metadata.generateName", "metadata.name"]


async def test_a_signers_name_is_a_domain_and_a_path(api: Api) -> None:
    words = 'spec.signerName: Invalid value: "bad": must be a fully qualified domain and path of the form'
    (await api.post(BUNDLES, bundle("bad:a", "bad"))).failed(422, "Invalid", words)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(A + B, id="two certificates"),
        pytest.param("words\n" + A + "words\n" + B + "words", id="text around blocks is skipped"),
        pytest.param(A.replace("\n", "\r\n"), id="line breaks of Windows"),
        pytest.param("\n".join([LINES[0], "".join(LINES[1:-1]), LINES[-1]]), id="one long line without an end"),
        pytest.param(A + "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n", id="a broken block is skipped"),
        pytest.param(A + LINES[0] + "\n" + LINES[1], id="a block without an end is skipped"),
        pytest.param(LINES[0] + "\n" + A, id="a block begins after the last of several beginnings"),
    ],
)
async def test_certificates_are_found_as_go_finds_them(api: Api, text: str) -> None:
    assert (await api.post(BUNDLES, bundle("b", text=text))).ok()["spec"]["trustBundle"] == text


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        pytest.param("", ["at least one trust anchor must be provided"], id="nothing"),
        pytest.param("words", ["at least one trust anchor must be provided"], id="words"),
        pytest.param("  " + A, ["at least one trust anchor must be provided"], id="a block begins a line"),
        pytest.param(A.strip() + B, ["at least one trust anchor must be provided"], id="blocks in the same line"),
        pytest.param(
            A.replace("END CERTIFICATE", "END X"), ["at least one trust anchor must be provided"], id="another end"
        ),
        pytest.param(A + B + A + A, ["duplicate trust anchor (indices [0 2 3])"], id="duplicates"),
        pytest.param(encoded(DER, head="K: v\n\n"), ["entry 0 has PEM block headers"], id="headers"),
        pytest.param(
            A + encoded(DER, "CERTIFICATE REQUEST") + encoded(b"junk"),
            ["entry 1 has bad block type: CERTIFICATE REQUEST", "entry 2 does not parse as X.509"],
            id="each block is checked",
        ),
        pytest.param(encoded(DER + b"x"), ["entry 0 does not parse as X.509"], id="bytes after a certificate"),
        pytest.param(
            "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n",
            ["entry 0 does not parse as X.509"],
            id="an empty block",
        ),
    ],
)
async def test_what_is_no_certificate_is_refused(api: Api, text: str, problems: list[str]) -> None:
    status = (await api.post(BUNDLES, bundle("b", text=text))).failed(422, "Invalid")
    causes = [(cause["field"], cause["message"]) for cause in status["details"]["causes"]]
    assert causes == [("spec.trustBundle", f'Invalid value: "<value omitted>": {text}') for text in problems]


@pytest.mark.parametrize("spec", [{}, {"spec": {}}, {"spec": {"trustBundle": None}}])
async def test_a_missing_bundle_is_an_empty_one(api: Api, spec: dict[str, Any]) -> None:
    status = (await api.post(BUNDLES, {"metadata": {"name": "b"}, **spec})).failed(422, "Invalid")
    (cause,) = status["details"]["causes"]
    assert cause["message"] == 'Invalid value: "<value omitted>": at least one trust anchor must be provided'


async def test_a_bundle_has_at_most_a_mebibyte(api: Api) -> None:
    words = "spec.trustBundle: Too long: may not be more than 1048576 bytes"
    (await api.post(BUNDLES, bundle("b", text="x" * (1 << 20) + "y"))).failed(422, "Invalid", words)


async def test_a_bundles_signer_never_changes(api: Api) -> None:
    new_bundle = (await api.post(BUNDLES, bundle("s.com:x:one", "s.com/x"))).ok()
    path = f"{BUNDLES}/s.com:x:one"
    new_bundle["spec"]["trustBundle"] = B
    new_bundle = (await api.put(path, new_bundle)).ok()
    new_bundle["spec"]["signerName"] = "t.com/x"
    (await api.put(path, new_bundle)).failed(
        422, "Invalid", 'spec.signerName: Invalid value: "t.com/x": field is immutable'
    )
    new_bundle["spec"] = {"trustBundle": A}
    (await api.put(path, new_bundle)).failed(422, "Invalid", 'spec.signerName: Invalid value: "": field is immutable')


async def test_bundles_are_selected_by_their_signer(api: Api) -> None:
    for name, signer in (("plain", ""), ("s.com:x:one", "s.com/x"), ("t.org:x:two", "t.org/x")):
        (await api.post(BUNDLES, bundle(name, signer))).ok()
    for selector, names in (
        ("spec.signerName=s.com/x", ["s.com:x:one"]),
        ("spec.signerName=", ["plain"]),
        ("spec.signerName!=s.com/x", ["plain", "t.org:x:two"]),
    ):
        items = (await api.get(BUNDLES, fieldSelector=selector)).ok()["items"]
        assert [item["metadata"]["name"] for item in items] == names


# -- volumes ----------------------------------------------------------------------------------------------------------


def mounting(source: dict[str, Any]) -> dict[str, Any]:
    return pod(spec={"volumes": [{"name": "v", "projected": {"sources": [{"clusterTrustBundle": source}]}}]})


@pytest.mark.parametrize(
    "source", [{"name": "s.com:x:a"}, {"signerName": "s.com/x", "labelSelector": {"matchLabels": {"a": "b"}}}]
)
async def test_a_volume_takes_a_bundle_by_name_or_those_of_a_signer(api: Api, source: dict[str, Any]) -> None:
    pod = (await api.post(PODS, mounting({**source, "path": "ca.pem"}))).ok()
    assert pod["spec"]["volumes"][0]["projected"]["sources"] == [{"clusterTrustBundle": {**source, "path": "ca.pem"}}]


@pytest.mark.parametrize(
    ("source", "field", "words"),
    [
        (
            {"name": "a", "labelSelector": {"matchLabels": {"b": "c"}}},
            ".labelSelector",
            'Invalid value: {"matchLabels":{"b":"c"}}: labelSelector must be unset if name is specified',
        ),
        (
            {"name": "a", "signerName": "s.com/x"},
            "",
            'Invalid value: {"Name":"a","SignerName":"s.com/x","LabelSelector":null,"Optional":null,"Path":"ca.pem",'
            '"User":null}: only one of name and signerName may be used',
        ),
        ({}, "", "Required value: either name or signerName must be specified"),
    ],
)
async def test_a_volumes_bundle_is_named_in_one_way(api: Api, source: dict[str, Any], field: str, words: str) -> None:
    status = (await api.post(PODS, mounting({**source, "path": "ca.pem"}))).failed(422, "Invalid")
    place = f"spec.volumes[0].projected.sources[0].clusterTrustBundle{field}"
    assert [(cause["field"], cause["message"]) for cause in status["details"]["causes"]] == [(place, words)]


# -- ClusterTrustBundleAttest -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("signers", [["s.com/x"], ["s.com/*"]])
async def test_a_user_who_may_attest_for_a_signer_writes_its_bundles(signers: list[str]) -> None:
    async with guarded() as api:
        attest = rule("attest", "signers", GROUP, resourceNames=signers)
        await allow(api, "jane", rule("*", "clustertrustbundles", GROUP), attest, cluster=True)
        result = (await as_(api, "jane", "POST", BUNDLES, bundle("s.com:x:one", "s.com/x"))).ok()
        result["spec"]["trustBundle"] = B
        (await as_(api, "jane", "PUT", f"{BUNDLES}/s.com:x:one", result)).ok()
        (await as_(api, "jane", "POST", BUNDLES, bundle("t.com:x:one", "t.com/x"))).failed(403, "Forbidden")


async def test_nobody_else_writes_the_bundles_of_a_signer() -> None:
    async with guarded() as api:
        other = rule("sign", "signers", GROUP, resourceNames=["s.com/x"])
        await allow(api, "jane", rule("*", "clustertrustbundles", GROUP), other, cluster=True)
        words = 'user not permitted to attest for signerName "s.com/x"'
        refused = await as_(api, "jane", "POST", BUNDLES, bundle("s.com:x:one", "s.com/x"))
        message = f'clustertrustbundles.certificates.k8s.io "s.com:x:one" is forbidden: {words}'
        assert refused.failed(403, "Forbidden")["message"] == message
        (await as_(api, "jane", "POST", BUNDLES, bundle("plain"))).ok()

        new_bundle = (await api.post(BUNDLES, bundle("s.com:x:one", "s.com/x"))).ok()
        path = f"{BUNDLES}/s.com:x:one"
        labelled = {**new_bundle, "metadata": {**new_bundle["metadata"], "labels": {"a": "b"}}}
        (await as_(api, "jane", "PUT", path, labelled)).failed(403, "Forbidden", words)
        held = {**new_bundle, "metadata": {**new_bundle["metadata"], "finalizers": ["a.b/c"]}}
        (await as_(api, "jane", "PUT", path, held)).ok()  # as the garbage collector does
        (await as_(api, "jane", "DELETE", path)).ok()


async def test_attestation_is_switched_off_by_its_name() -> None:
    async with guarded(plugins_off=("ClusterTrustBundleAttest",)) as api:
        await allow(api, "jane", rule("create", "clustertrustbundles", GROUP), cluster=True)
        (await as_(api, "jane", "POST", BUNDLES, bundle("s.com:x:one", "s.com/x"))).ok()
