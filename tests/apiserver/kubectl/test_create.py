from __future__ import annotations

import base64

from .conftest import Kubectl, config_map


async def test_create_makes_objects_of_the_common_kinds(kubectl: Kubectl) -> None:
    commands = {
        "namespace team": "namespace/team created",
        "configmap settings --from-literal=a=1": "configmap/settings created",
        "secret generic token --from-literal=key=value": "secret/token created",
        "serviceaccount robot": "serviceaccount/robot created",
        "deployment web --image=nginx --replicas=3 --port=80": "deployment.apps/web created",
        "service clusterip front --tcp=80:8080": "service/front created",
        "job once --image=busybox -- true": "job.batch/once created",
        "role reader --verb=get --resource=pods": "role.rbac.authorization.k8s.io/reader created",
        "cronjob often --image=busybox --schedule=@hourly": "cronjob.batch/often created",
        "quota small --hard=cpu=1,pods=2": "resourcequota/small created",
        "poddisruptionbudget some --selector=app=web --min-available=50%": "poddisruptionbudget.policy/some created",
        "ingress in --rule=a.example/*=front:80": "ingress.networking.k8s.io/in created",
    }
    for command, printed in commands.items():
        assert (await kubectl("create", *command.split())).out == printed
    assert (await kubectl.get("quota", "small"))["spec"]["hard"] == {"cpu": "1", "pods": "2"}
    assert (await kubectl.get("pdb", "some"))["spec"]["minAvailable"] == "50%"
    (rule,) = (await kubectl.get("ingress", "in"))["spec"]["rules"]
    backend = {"service": {"name": "front", "port": {"number": 80}}}
    assert rule == {"host": "a.example", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}
    settings = await kubectl.get("configmap", "settings")
    assert settings["data"] == {"a": "1"}
    token = await kubectl.get("secret", "token")
    assert token["type"] == "Opaque"
    assert base64.b64decode(token["data"]["key"]) == b"value"
    web = await kubectl.get("deployment", "web")
    assert web["spec"]["replicas"] == 3
    assert web["spec"]["template"]["spec"]["containers"][0]["ports"] == [{"containerPort": 80, "protocol": "TCP"}]


async def test_created_objects_are_given_what_the_server_gives(kubectl: Kubectl) -> None:
    await kubectl("create", "-f", "-", stdin={**config_map(""), "metadata": {"generateName": "many-"}})
    await kubectl("create", "deployment", "web", "--image=nginx")
    (result,) = (
        await kubectl("get", "configmaps", "-o", "jsonpath={.items[?(@.metadata.generateName)].metadata.name}")
    ).lines
    assert result.startswith("many-")
    assert len(result) == len("many-") + 5
    web = await kubectl.get("deployment", "web", "--show-managed-fields")
    assert web["metadata"]["generation"] == 1
    assert web["metadata"]["uid"]
    assert web["metadata"]["resourceVersion"]
    assert web["metadata"]["managedFields"][0]["manager"] == "kubectl-create"
    spec = web["spec"]
    assert spec["strategy"] == {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}
    assert spec["template"]["spec"]["dnsPolicy"] == "ClusterFirst"
    assert spec["template"]["spec"]["containers"][0]["imagePullPolicy"] == "Always"


async def test_creating_twice_says_that_it_exists(kubectl: Kubectl) -> None:
    await kubectl("create", "configmap", "a")
    refused = await kubectl("create", "configmap", "a", fails=True)
    assert refused.err == 'error: failed to create configmap: configmaps "a" already exists'
    refused = await kubectl("create", "-f", "-", stdin=config_map("a"), fails=True)
    assert refused.err == (
        'Error from server (AlreadyExists): error when creating "STDIN": configmaps "a" already exists'
    )


async def test_run_and_expose_make_a_pod_and_its_service(kubectl: Kubectl) -> None:
    assert (await kubectl("run", "web", "--image=nginx", "--port=80", "--labels=app=web")).out == "pod/web created"
    assert (await kubectl("expose", "pod", "web")).out == "service/web exposed"
    service = (await kubectl.get("service", "web"))["spec"]
    assert service["selector"] == {"app": "web"}
    assert service["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80}]
    assert service["type"] == "ClusterIP"


async def test_objects_go_into_the_namespace_that_was_asked_for(kubectl: Kubectl) -> None:
    await kubectl("create", "namespace", "team")
    await kubectl("create", "-n", "team", "configmap", "a")
    assert (await kubectl("get", "-n", "team", "configmap", "a", "-o", "name")).out == "configmap/a"
    refused = await kubectl("get", "configmap", "a", fails=True)
    assert refused.err == 'Error from server (NotFound): configmaps "a" not found'
    refused = await kubectl("create", "-n", "nowhere", "configmap", "a", fails=True)
    assert refused.err == 'error: failed to create configmap: namespaces "nowhere" not found'
