"""The definition of a kind that another project installs, or that the program only owns, watches or reads, is not
written.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

import setpoint as sp
from setpoint.cli.crd_sources import from_classes
from setpoint.cli.program import program
from setpoint.deploy.crds import own_kinds
from setpoint.operator import Operator


class CertificateSpec(sp.Model):
    """The one field of cert-manager's that the program sets."""

    secret_name: str = ""


class Certificate(sp.CustomResource, group="cert-manager.io", version="v1"):
    spec: CertificateSpec = CertificateSpec()


class Issuer(sp.CustomResource, group="cert-manager.io", version="v1", installed_by="cert-manager"):
    spec: CertificateSpec = CertificateSpec()


class SiteV1(sp.CustomResource, group="sites.example.com", version="v1", kind="Site", storage=False):
    pass


class Site(sp.CustomResource, group="sites.example.com", version="v2", conversions=(sp.Conversion(SiteV1),)):
    pass


class Page(sp.CustomResource, group="sites.example.com", version="v1"):
    pass


async def reconcile(obj: Any, ctx: sp.Context) -> None:
    """Nothing to do."""


def controller(role: str) -> sp.Controller[Site]:
    declared = sp.Controller(Site, reconcile)
    if role == "owns":
        return declared.owns(Certificate)
    if role == "watches":
        return declared.watches(Certificate, lambda head: [])
    return declared.reads(Certificate)


ROLES = ["owns", "watches", "reads"]
COMMANDS = {
    "outside": ["--service", "sites"],
    "plain": ["--image", "registry.example.com/site:1.0.0"],
    **{
        form: ["--image", "registry.example.com/site:1.0.0", "--form", form, "--output", "{folder}"]
        for form in ("kustomize", "helm", "olm")
    },
}


def printed(parts: list[Any], command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The output of ``manifests``, and then the text of each file that it writes."""
    arguments = [argument.format(folder=tmp_path) for argument in COMMANDS[command]]
    controllers = [part for part in parts if isinstance(part, sp.Controller)]
    admissions = [part for part in parts if isinstance(part, sp.Admission)]
    with suppress(SystemExit):
        program("sites.py", Operator(controllers, admissions, name="sites.example.com"))(["manifests", *arguments])
    return [capsys.readouterr().out, *(file.read_text() for file in tmp_path.rglob("*") if file.is_file())]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_kind_that_another_project_installs_is_not_defined_whatever_the_program_does_with_it(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    admission = sp.Admission(Issuer).validates(lambda issuer: None)
    parts = [controller("owns"), sp.Controller(Issuer, reconcile), admission]
    texts = printed(parts, command, tmp_path, capsys)
    assert any("sites.sites.example.com" in text for text in texts)
    unquoted = [text.replace("\\", "") for text in texts]
    assert not any(word in text for text in unquoted for word in ("kind: Issuer", '"kind": "Issuer"'))
    assert not any("issuers-editor" in text for text in texts), "the roles of its users are the other project's"
    if command in ("outside", "plain"):
        documents = [document for document in yaml.safe_load_all(texts[0]) if document]
        rules = [rule for document in documents if document["kind"] == "ClusterRole" for rule in document["rules"]]
        assert any("issuers" in rule.get("resources", ()) for rule in rules), "the rights are still needed"
        webhooks = [document for document in documents if document["kind"] == "ValidatingWebhookConfiguration"]
        assert "issuers" in str(webhooks), "webhooks for it are the program's own"


def test_crd_diff_compares_a_kind_that_another_project_installs_only_by_its_name(tmp_path: Path) -> None:
    source = tmp_path / "theirs.py"
    source.write_text(
        "import setpoint as sp\n"
        "class Theirs(sp.CustomResource, group='theirs.example.com', version='v1', installed_by='theirs'): pass\n"
        "class Mine(sp.CustomResource, group='mine.example.com', version='v1'): pass\n"
    )
    assert [document["spec"]["names"]["kind"] for document in from_classes(str(source))] == ["Mine"]
    assert [document["spec"]["names"]["kind"] for document in from_classes(f"{source}:Theirs")] == ["Theirs"]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("role", ROLES)
def test_a_kind_that_is_only_declared_for_use_is_not_defined(
    role: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = printed([controller(role)], command, tmp_path, capsys)
    assert any("sites.sites.example.com" in text for text in texts)
    assert not any("certificates.cert-manager.io" in text for text in texts)
    if command in ("outside", "plain"):
        rules = [rule for doc in yaml.safe_load_all(texts[0]) if doc["kind"] == "ClusterRole" for rule in doc["rules"]]
        assert any("cert-manager.io" in rule.get("apiGroups", ()) for rule in rules), "the rights are still needed"


def test_a_kind_that_another_controller_or_an_admission_of_the_program_handles_is_its_own() -> None:
    parent, child = sp.Controller(Site, reconcile).owns(Page).reads(SiteV1), sp.Controller(Page, reconcile)
    kinds = [Site, SiteV1, Page]
    assert own_kinds(kinds, [parent, child], []) == kinds
    assert own_kinds(kinds, [parent], [sp.Admission(Page).validates(lambda page: None)]) == kinds
    assert own_kinds(kinds, [parent], []) == [Site, SiteV1]


def test_crd_diff_leaves_out_kinds_that_the_controllers_of_a_module_only_use(tmp_path: Path) -> None:
    source = tmp_path / "used.py"
    source.write_text(
        "import setpoint as sp\n"
        "class Theirs(sp.CustomResource, group='theirs.example.com', version='v1'): pass\n"
        "class Mine(sp.CustomResource, group='mine.example.com', version='v1'): pass\n"
        "class Other(sp.CustomResource, group='mine.example.com', version='v1'): pass\n"
        "async def reconcile(obj, ctx): pass\n"
        "controller = sp.Controller(Mine, reconcile).owns(Theirs)\n"
    )
    assert [document["spec"]["names"]["kind"] for document in from_classes(str(source))] == ["Mine", "Other"]
    assert [document["spec"]["names"]["kind"] for document in from_classes(f"{source}:Theirs")] == ["Theirs"]
