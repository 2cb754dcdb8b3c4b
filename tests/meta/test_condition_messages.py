"""The plain words in which the page of an embedded cluster tells of conditions, containers and messages."""

from __future__ import annotations

import pytest

from setpoint.meta.condition_messages import condition, container, message


@pytest.mark.parametrize(
    ("message", "kind", "words"),
    [
        ({"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "too many"}, "",
         "its pods can't be created: too many"),
        ({"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate"}, "",
         "its pods can't be created (FailedCreate)"),
        ({"type": "Ready", "status": "False", "reason": "TillMissing", "message": "the till is away"}, "",
         "it is not ready (TillMissing): the till is away"),
        ({"type": "NamesAccepted", "status": "False"}, "", "its condition NamesAccepted is False"),
        ({"type": "Ready", "status": "Unknown"}, "", "its condition Ready is Unknown"),
        ({"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded",
          "message": "Job has reached the specified backoff limit"}, "Job",
         "it has failed: more of its pods have failed than its backoffLimit allows"),
        ({"type": "Failed", "status": "True", "reason": "NoDisk", "message": "m"}, "Backup",
         "it has failed (NoDisk): m"),
        ({}, "", "its condition None is None"),
    ],
)  # fmt: skip
def test_a_condition_is_told_as_a_sentence(message: dict[str, str], kind: str, words: str) -> None:
    assert condition(message, kind) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("any other words", "any other words"),
        ('pods "web-1-" is forbidden: exceeded quota: team, requested: cpu=1,pods=1, used: cpu=2,pods=4, '
         'limited: cpu=2,pods=4',
         "ResourceQuota team does not allow 1 more of cpu, of which 2 of 2 is used; "
         "1 more of pods, of which 4 of 4 is used"),
        ('pods "b-" is forbidden: no PriorityClass with name high was found', "PriorityClass high does not exist"),
        ('Internal error occurred: failed calling webhook "a.example.com": failed to call webhook: '
         'Post "https://judge.court.svc:443/?timeout=2s": service "judge" not found',
         'the webhook "a.example.com" can\'t be called: service "court/judge" not found'),
        ('failed calling webhook "a.example.com": failed to call webhook: the server could not find it',
         'the webhook "a.example.com" can\'t be called: the server could not find it'),
        ("0/4 nodes are available: 1 Too many pods, 1 node(s) had untolerated taint {a: b}, 2 Insufficient cpu.",
         "of 4 nodes, 1 already has its maximum number of pods, 1 has a taint {a: b} that it does not tolerate, "
         "2 have too little cpu for it"),
        ("0/1 nodes are available: 1 node(s) were unschedulable. preemption: 0/1 nodes are available.",
         "of 1 node, 1 is cordoned"),
        ("0/1 nodes are available: 1 node(s) did something new.", "of 1 node, 1 node(s) did something new"),
        ("0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found",
         "it waits for its PersistentVolumeClaims"),
    ],
)  # fmt: skip
def test_a_known_message_is_told_in_plain_words_and_another_one_as_it_is(text: str, words: str) -> None:
    assert message(text) == words


@pytest.mark.parametrize(
    ("reason", "text", "ended", "words"),
    [
        ("ImagePullBackOff", 'Back-off pulling image "web:2": ErrImagePull: failed to pull and unpack image "web:2": '
         "web:2: not found", "", "the image of container main can't be pulled (ImagePullBackOff): web:2: not found"),
        ("ErrImagePull", "", "", "the image of container main can't be pulled (ErrImagePull)"),
        ("CreateContainerConfigError", 'configmap "settings" not found', "",
         'container main waits (CreateContainerConfigError): configmap "settings" not found'),
        ("PodInitializing", "", "ended with exit code 2",
         "container main waits (PodInitializing); its last run ended with exit code 2"),
        ("", "", "", "container main waits"),
    ],
)  # fmt: skip
def test_a_waiting_container_is_told_as_a_sentence(reason: str, text: str, ended: str, words: str) -> None:
    assert container("main", reason, text, ended) == words
