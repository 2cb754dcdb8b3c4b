"""Pods as a busy cluster has them: about 5.4 KB of JSON each, a third managedFields, in the order Go writes them."""

from __future__ import annotations

import hashlib
import random
import uuid
from typing import Any

_MANAGED_ENV = {f'k:{{"name":"VAR_{number}"}}': {".": {}, "f:name": {}, "f:value": {}} for number in range(14)}
_CONDITIONS = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")


def pod(number: int, version: int, draw: random.Random) -> dict[str, Any]:
    """One pod. It differs from others as real pods do: names, uids, container ids, addresses, nodes."""
    app = f"svc-{number % 500:03d}"
    replica_set = f"{app}-{hashlib.sha256(str(number // 10).encode()).hexdigest()[:10]}"
    name = f"{replica_set}-{draw.getrandbits(25):05x}"
    owner = str(uuid.UUID(int=random.Random(number // 10).getrandbits(128)))
    image = f"registry.example.com/{app}:v1.{number % 40}"
    digest = hashlib.sha256(image.encode()).hexdigest()
    token = f"kube-api-access-{name[-5:]}"
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": name,
            "generateName": f"{replica_set}-",
            "namespace": f"team-{number % 50:02d}",
            "uid": str(uuid.UUID(int=draw.getrandbits(128))),
            "resourceVersion": str(version),
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"app": app, "tier": "backend", "pod-template-hash": replica_set[-10:]},
            "annotations": {
                "prometheus.io/scrape": "true",
                "checksum/config": hashlib.sha256(app.encode()).hexdigest(),
            },
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": replica_set,
                    "uid": owner,
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
            "managedFields": [
                {
                    "manager": "kube-controller-manager",
                    "operation": "Update",
                    "apiVersion": "v1",
                    "time": "2026-01-01T00:00:00Z",
                    "fieldsType": "FieldsV1",
                    "fieldsV1": {
                        "f:metadata": {
                            "f:generateName": {},
                            "f:labels": {".": {}, "f:app": {}, "f:pod-template-hash": {}, "f:tier": {}},
                            "f:ownerReferences": {".": {}, f'k:{{"uid":"{owner}"}}': {}},
                        },
                        "f:spec": {
                            "f:containers": {
                                'k:{"name":"main"}': {
                                    ".": {},
                                    "f:env": {".": {}, **_MANAGED_ENV},
                                    "f:image": {},
                                    "f:imagePullPolicy": {},
                                    "f:name": {},
                                    "f:resources": {},
                                }
                            },
                            "f:dnsPolicy": {},
                            "f:restartPolicy": {},
                        },
                    },
                },
                {
                    "manager": "kubelet",
                    "operation": "Update",
                    "apiVersion": "v1",
                    "time": "2026-01-01T00:00:00Z",
                    "fieldsType": "FieldsV1",
                    "fieldsV1": {
                        "f:status": {
                            "f:conditions": {
                                f'k:{{"type":"{condition}"}}': {".": {}, "f:status": {}, "f:type": {}}
                                for condition in _CONDITIONS
                            },
                            "f:containerStatuses": {},
                            "f:hostIP": {},
                            "f:phase": {},
                            "f:podIP": {},
                            "f:startTime": {},
                        }
                    },
                    "subresource": "status",
                },
            ],
        },
        "spec": {
            "volumes": [
                {
                    "name": token,
                    "projected": {
                        "sources": [
                            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                            {
                                "configMap": {
                                    "name": "kube-root-ca.crt",
                                    "items": [{"key": "ca.crt", "path": "ca.crt"}],
                                }
                            },
                        ],
                        "defaultMode": 420,
                    },
                }
            ],
            "containers": [
                {
                    "name": "main",
                    "image": image,
                    "env": [{"name": f"VAR_{index}", "value": f"value-{index}-{number % 100}"} for index in range(14)],
                    "resources": {
                        "limits": {"cpu": "500m", "memory": "512Mi"},
                        "requests": {"cpu": "100m", "memory": "128Mi"},
                    },
                    "volumeMounts": [
                        {
                            "name": token,
                            "readOnly": True,
                            "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
                        }
                    ],
                    "livenessProbe": {
                        "httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"},
                        "timeoutSeconds": 1,
                        "periodSeconds": 10,
                        "successThreshold": 1,
                        "failureThreshold": 3,
                    },
                    "terminationMessagePath": "/dev/termination-log",
                    "terminationMessagePolicy": "File",
                    "imagePullPolicy": "IfNotPresent",
                }
            ],
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "serviceAccountName": "default",
            "serviceAccount": "default",
            "nodeName": f"node-{number % 300:04d}",
            "securityContext": {},
            "schedulerName": "default-scheduler",
            "tolerations": [
                {
                    "key": f"node.kubernetes.io/{item}",
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": 300,
                }
                for item in ("not-ready", "unreachable")
            ],
            "priority": 0,
            "enableServiceLinks": True,
            "preemptionPolicy": "PreemptLowerPriority",
        },
        "status": {
            "phase": "Running",
            "conditions": [
                {
                    "type": condition,
                    "status": "True",
                    "lastProbeTime": None,
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }
                for condition in _CONDITIONS
            ],
            "hostIP": f"10.0.{number // 250 % 250}.{number % 250}",
            "podIP": f"10.{number // 62500}.{number // 250 % 250}.{number % 250}",
            "startTime": "2026-01-01T00:00:00Z",
            "containerStatuses": [
                {
                    "name": "main",
                    "state": {"running": {"startedAt": "2026-01-01T00:00:05Z"}},
                    "lastState": {},
                    "ready": True,
                    "restartCount": version % 3,
                    "image": image,
                    "imageID": f"registry.example.com/{app}@sha256:{digest}",
                    "containerID": f"containerd://{draw.getrandbits(256):064x}",
                    "started": True,
                }
            ],
            "qosClass": "Burstable",
        },
    }
