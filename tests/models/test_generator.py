from __future__ import annotations

import ast
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from tools.models.naming import attribute_name, constant_name, module_name, snake_case
from tools.models.prose import class_doc, docstring, field_doc
from tools.models.schema_data import pack


def have(package: str) -> bool:
    try:
        distribution(package)
    except PackageNotFoundError:
        return False
    return True


inputs_needed = pytest.mark.skipif(
    not (have("kubernetes-validate") and have("lightkube-models")),
    reason="the generator's inputs are not installed: pip install --group models",
)


@pytest.mark.parametrize(
    ("wire", "name"),
    [
        ("podIP", "pod_ip"),
        ("clusterIPs", "cluster_ips"),
        ("externalIPs", "external_ips"),
        ("podCIDRs", "pod_cidrs"),
        ("nonResourceURLs", "non_resource_urls"),
        ("targetWWNs", "target_wwns"),
        ("serverAddressByClientCIDRs", "server_address_by_client_cidrs"),
        ("fsGroupChangePolicy", "fs_group_change_policy"),
        ("setHostnameAsFQDN", "set_hostname_as_fqdn"),
        ("insecureSkipTLSVerify", "insecure_skip_tls_verify"),
        ("stubPKCS10Request", "stub_pkcs10_request"),
        ("JSONPath", "json_path"),
        ("Port", "port"),
        ("$ref", "ref"),
        ("x-kubernetes-list-map-keys", "x_kubernetes_list_map_keys"),
        ("fieldsV1", "fields_v1"),
    ],
)
def test_names_are_snake_case(wire: str, name: str) -> None:
    assert snake_case(wire) == name


def test_names_that_mean_something_else_get_an_underscore() -> None:
    assert attribute_name("from", on_object=False) == "from_"
    assert attribute_name("continue", on_object=False) == "continue_"
    assert attribute_name("bool", on_object=False) == "bool_"
    assert attribute_name("type", on_object=False) == "type"
    assert attribute_name("key", on_object=False) == "key"
    assert attribute_name("key", on_object=True) == "key_"
    assert attribute_name("resource", on_object=True) == "resource_"
    assert attribute_name("metadata", on_object=True) == "metadata"


def test_modules_and_constants_are_named_after_the_group() -> None:
    assert module_name("io.k8s.api.rbac.v1.Role") == "rbac_v1"
    assert module_name("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON") == "apiextensions_v1"
    assert module_name("io.k8s.apimachinery.pkg.apis.meta.v1.APIGroup") == "meta_v1"
    assert constant_name("", "v1", "ConfigMap") == "CORE_V1_CONFIG_MAP"
    assert constant_name("rbac.authorization.k8s.io", "v1", "Role") == "RBAC_V1_ROLE"


def test_docs_keep_what_an_author_needs() -> None:
    text = "Number of pods that are wanted at least, e.g. 3. It is a pointer. Defaults to 1. More info: https://example.com"
    assert field_doc(text) == "Number of pods that are wanted at least, e.g. 3. Defaults to 1."
    assert class_doc("A thing. Another.\n\nA later paragraph.") == "A thing. Another."


@pytest.mark.parametrize("text", ['ends in "quotes"', "a \\d pattern", 'has """ inside', "long " * 60, "x" * 200])
def test_any_text_can_be_a_docstring(text: str) -> None:
    lines = docstring(text, "    ")
    assert all(len(line) <= 120 for line in lines) or " " not in text
    message = ast.literal_eval("\n".join(lines).strip())
    assert " ".join(message.split()) == " ".join(text.split())


def test_schema_data_are_the_same_bytes_whatever_the_order() -> None:
    assert pack({"b": {"type": "object"}, "a": {}}) == pack({"a": {}, "b": {"type": "object"}})


@inputs_needed
def test_the_committed_models_are_what_the_generator_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from tools import generate_models
    from tools.generate_models import FOLDER, differing, generate, main

    files = generate()
    monkeypatch.setattr(generate_models, "generate", lambda: files)  # it takes seconds
    assert differing(files, FOLDER) == []
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    (tmp_path / "apps_v1.py").write_bytes(files["apps_v1.py"] + b"# edited by hand\n")
    (tmp_path / "gone_v1.py").write_bytes(files["apps_v1.py"])
    (tmp_path / "schemas" / "io.k8s.api.apps.v1.json.zst").unlink()
    (tmp_path / "schemas" / "io.k8s.api.gone.v1.json.zst").write_bytes(b"")
    assert differing(files, tmp_path) == [
        "apps_v1.py",
        "gone_v1.py",
        "schemas/io.k8s.api.apps.v1.json.zst",
        "schemas/io.k8s.api.gone.v1.json.zst",
    ]
    assert main(["--check", "--folder", str(tmp_path)]) == 1
    assert "gone_v1.py" in capsys.readouterr().out
    assert main(["--folder", str(tmp_path)]) == 0
    assert main(["--check", "--folder", str(tmp_path)]) == 0
    assert not (tmp_path / "gone_v1.py").exists()
