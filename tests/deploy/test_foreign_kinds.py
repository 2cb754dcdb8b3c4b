"""The definition of a kind that the program only owns, watches or reads is another project's, and is never written."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

import setpoint as sp
from setpoint.cli.definitions import from_classes
from setpoint.cli.program import program
from setpoint.deploy.definitions import own_kinds


class CertificateSpec(sp.Model):
    """The one field of cert-manager's that the program sets."""

    secret_name: str = ""


class Certificate(sp.CustomResource, group="cert-manager.io", version="v1"):
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
    "outside": [],
    "plain": ["--image", "registry.example.com/site:1.0.0"],
    **{
        form: ["--image", "registry.example.com/site:1.0.0", "--form", form, "--output", "{folder}"]
        for form in ("kustomize", "helm", "olm")
    },
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("role", ROLES)
def test_a_kind_that_is_only_declared_for_use_is_not_defined(
    role: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [argument.format(folder=tmp_path) for argument in COMMANDS[command]]
    with suppress(SystemExit):
        program("sites.py", [controller(role)])(["manifests", *arguments])
    texts = [capsys.readouterr().out, *(file.read_text() for file in tmp_path.rglob("*") if file.is_file())]
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
