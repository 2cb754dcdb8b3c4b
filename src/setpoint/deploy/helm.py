"""The Helm form: a chart whose templates are made from the same documents as the other forms.

The documents are made for an operator whose name, namespace and image are *tokens*: valid names that do not occur
anywhere else. In the text of a template, tokens become references to Helm's values. Braces that the text already
contains, such as those in a dashboard's legends, are escaped.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib.resources import files
from typing import Any, Final

from setpoint.deploy.document_groups import ABOUT, parts
from setpoint.deploy.file_tree import File
from setpoint.deploy.installation import Installation, WebhookCallers
from setpoint.deploy.uninstall_hook import uninstall_hook
from setpoint.deploy.workload import CALLERS_FILE, CALLERS_FOLDER, CALLERS_SUM
from setpoint.meta.yaml_text import to_yaml

Document = dict[str, Any]
_NAME: Final = "token-of-the-name"
_SPACE: Final = "token-of-the-space"
_INSTANCE: Final = "token-of-the-instance"
_VERSION: Final = "token-of-the-version"
_IMAGE: Final = "token-of-the-image"
_ACCOUNT: Final = "token-of-the-account"
_MANAGER: Final = "token-of-the-tool"
_CALLERS: Final = "token-of-the-callers"
_AUTHORITIES: Final = "webhookCallers.clientCA"
_REFERENCES: Final = {
    _NAME: '{{ include "operator.fullname" . }}',
    _SPACE: "{{ .Release.Namespace }}",
    _INSTANCE: "{{ .Release.Name }}",
    _VERSION: '{{ include "operator.version" . | quote }}',
    _IMAGE: '{{ include "operator.image" . | quote }}',
    _ACCOUNT: '{{ include "operator.serviceAccountName" . }}',
    _MANAGER: "{{ .Release.Service }}",
}
_CONDITIONS: Final = {
    "definitions": ".Values.crds.install",
    "roles": ".Values.rbac.create",
    "users": ".Values.userRoles.create",
    "callers": f".Values.{_AUTHORITIES}",
    "disruption": ".Values.podDisruptionBudget.enabled",
    "monitoring": ".Values.monitoring.enabled",
}
_ABOUT_UNINSTALL: Final = "Before helm uninstall removes the rest: the users' objects, while the operator still runs."
_SOURCES: Final = f"    from:\n    - ipBlock:\n        cidr: {_CALLERS}\n"
_NETWORKS: Final = """\
    {{- with .Values.networkPolicy.webhookNetworks }}
    from:
    {{- range . }}
    - ipBlock:
        cidr: {{ . | quote }}
    {{- end }}
    {{- end }}
"""
_API: Final = "v2"


def helm(operator: Installation) -> dict[str, File]:
    """The files of a chart. The chart's version is `Installation.version`, or 0.1.0 if this is empty."""
    release = operator.version or "0.1.0"
    tokens = replace(
        operator,
        short=_NAME,
        wide=_NAME,
        namespace=_SPACE,
        instance=_INSTANCE,
        release=_VERSION,
        image=_IMAGE,
        managed_by=_MANAGER,
        service="",
        callers=WebhookCallers(client_ca=_CALLERS, tokens="verify", networks=[_CALLERS])
        if operator.served
        else WebhookCallers(),
        options={},  # they are values
        watch_namespace=_SPACE if operator.watch_namespace == operator.namespace else operator.watch_namespace,
    )
    groups = parts(tokens)
    groups.pop("namespace", None)
    templates: dict[str, str] = {}
    for name, documents in groups.items():
        if name == "roles":
            account, *documents = documents
            about = "The account that the program runs as."
            templates["account"] = _template(_account(account), about, ".Values.serviceAccount.create")
            _with_account(documents)
        text = _manager(documents) if name == "manager" else _text(documents)
        if name == "definitions":
            text = text.replace(_KEEP_LINE, _KEEP)
        if name == "callers":
            text = text.replace(_CALLERS, f"{{{{ .Values.{_AUTHORITIES} | quote }}}}")
        if name == "network":
            head, policy = documents[:-1], documents[-1:]
            templates["services"] = _template(_text(head), "How the operator is reached.", "")
            rule = _text(policy).replace(_SOURCES, _NETWORKS)
            templates["network"] = _template(rule, "Which callers reach the operator.", ".Values.networkPolicy.enabled")
            continue
        templates[name] = _template(text, ABOUT[name], _CONDITIONS.get(name, ""))
    templates["uninstall"] = _template(_uninstall(tokens), _ABOUT_UNINSTALL, ".Values.uninstall.objects")
    chart = {
        "apiVersion": _API,
        "name": operator.name,
        "description": f"The operator {operator.program}.",
        "type": "application",
        "version": release,
        "appVersion": release,
        "kubeVersion": ">=1.27.0-0",
    }
    tree = {f"templates/{name}.yaml": File(text) for name, text in templates.items()}
    tree["templates/_helpers.tpl"] = File(_packaged("_helpers.tpl"))
    tree["templates/NOTES.txt"] = File(_packaged("NOTES.txt"))
    tree["Chart.yaml"] = File(to_yaml([chart]))
    tree["values.yaml"] = File(_values(operator))
    tree["values.schema.json"] = File(json.dumps(_SCHEMA, indent=2) + "\n")
    tree[".helmignore"] = File(".git/\n.setpoint.json\n*.orig\n", once=True)
    return tree


def _packaged(name: str) -> str:
    return (files("setpoint.deploy") / "chart" / name).read_text("utf-8")


def _values(operator: Installation) -> str:
    repository, _, digest = operator.image.partition("@")
    name, colon, tag = repository.rpartition(":")
    if not colon or "/" in tag:
        name, tag = repository, ""
    words = {
        "repository": name,
        "tag": tag,
        "digest": digest,
        "replicas": str(operator.replicas),
        "replication": "One of them leads; the others take over when it is gone." if operator.elects
        else "All of them work, each on its share of the objects." if operator.controllers
        else "All of them answer.",
        "origin": operator.resources.origin,
        "cpu": operator.resources.cpu,
        "memory": operator.resources.memory,
        "limit": operator.resources.memory_limit,
        "authorities": json.dumps(operator.callers.client_ca),
        "names": json.dumps([*operator.callers.client_names]),
        "tokens": operator.callers.tokens,
        "options": json.dumps(dict(operator.options)),
        "networks": json.dumps([*operator.callers.networks]),
    }  # fmt: skip
    # In one pass: a value may contain such a word.
    return re.sub("@(" + "|".join(words) + ")@", lambda match: words[match[1]], _packaged("values.yaml"))


def _text(documents: list[Document]) -> str:
    """The documents as YAML, with references in place of tokens. Each CustomResourceDefinition has the annotation that
    makes Helm keep it.
    """
    for document in documents:
        if document["kind"] == "CustomResourceDefinition":
            document["metadata"].setdefault("annotations", {})[_KEEP_KEY] = "keep"
    text = to_yaml(documents).replace("{{", '{{ "{{" }}')
    for token, reference in _REFERENCES.items():
        text = text.replace(token, reference)
    return text


_KEEP_KEY: Final = "helm.sh/resource-policy"
_KEEP_LINE: Final = f"    {_KEEP_KEY}: keep\n"
_KEEP: Final = f"{{{{- if .Values.crds.keep }}}}\n{_KEEP_LINE}{{{{- end }}}}\n"
"""Helm 3 does not delete an object that has the annotation with any other value either."""


def _template(text: str, about: str, condition: str) -> str:
    text = f"# {about}\n{text}"
    return f"{{{{- if {condition} }}}}\n{text}{{{{- end }}}}\n" if condition else text


def _account(account: Document) -> str:
    account["metadata"]["name"] = _ACCOUNT
    annotations = "{{- with .Values.serviceAccount.annotations }}\nannotations: {{- toYaml . | nindent 4 }}\n{{- end }}"
    more = "".join(f"  {line}\n" for line in annotations.splitlines())
    return _text([account]).replace("automountServiceAccountToken:", f"{more}automountServiceAccountToken:", 1)


def _with_account(documents: list[Document]) -> None:
    for document in documents:
        for subject in document.get("subjects", ()):
            subject["name"] = _ACCOUNT


def _manager(documents: list[Document]) -> str:
    """The Deployment, with references to values for everything that is configurable."""
    (deployment,) = documents
    pod = deployment["spec"]["template"]["spec"]
    pod["serviceAccountName"] = _ACCOUNT
    pod["containers"][0]["args"].append("--log-level=token-of-the-level")
    deployment["spec"]["replicas"] = "token-of-replicas"
    text = _with_pod_values(documents, deployment["spec"]["template"])
    text = text.replace("replicas: token-of-replicas", "replicas: {{ .Values.replicas }}")
    text = text.replace("token-of-the-level", "{{ .Values.logLevel }}")
    text = _lines(
        text,
        "- --log-level={{ .Values.logLevel }}",
        "- --log-level={{ .Values.logLevel }}\n" + _OPTIONS + _block("with .Values.extraArgs", "toYaml ."),
        '- "--log-level={{ .Values.logLevel }}"',
    )
    return _with_callers(text) if CALLERS_FOLDER in text else text


def _uninstall(operator: Installation) -> str:
    """The uninstall hook. Objects in namespaces that the operator does not watch, by an option, stay."""
    arguments = [f"--chart={_NAME}", f"--namespace={_SPACE}", "--timeout=token-of-the-time"]
    if operator.name_given:
        arguments.append(f"--name={operator.name_given}")
    if operator.watch_namespace is not None:
        arguments.append(f"--watch-namespace={operator.watch_namespace}")
    documents = uninstall_hook(operator, arguments)
    job = documents[-1]["spec"]
    job["activeDeadlineSeconds"] = "token-of-the-end"
    text = _with_pod_values(documents, job["template"])
    text = text.replace("token-of-the-end", f"{{{{ add .Values.uninstall.timeout {_MORE_TIME} }}}}")
    lines = ['- "--timeout={{ .Values.uninstall.timeout }}"']
    if operator.watch_namespace is None:
        lines += _WATCHED
    if operator.option_names:
        names = " ".join(json.dumps(name) for name in operator.option_names)
        lines += [line.replace("NAMES", names) for line in _OWN_OPTIONS]
    return _lines(text, '- "--timeout=token-of-the-time"', "\n".join(lines))


def _with_pod_values(documents: list[Document], template: Document) -> str:
    """The documents with the pod template of one of them, which has references to values for what belongs to pods."""
    container = template["spec"]["containers"][0]
    container["resources"] = "token-of-resources"
    container["imagePullPolicy"] = "token-of-pulling"
    template["metadata"]["labels"]["token-of-labels"] = "here"
    template["metadata"].setdefault("annotations", {})["token-of-annotations"] = "here"
    text = _text(documents)
    text = _lines(text, "token-of-labels: here", _block("with .Values.podLabels", "toYaml ."))
    text = _lines(text, "token-of-annotations: here", _block("with .Values.podAnnotations", "toYaml ."))
    text = _lines(text, "resources: token-of-resources", "resources: {{- toYaml .Values.resources | nindent %(in)s }}")
    policy = "imagePullPolicy: {{ .Values.image.pullPolicy }}"
    text = _lines(text, "imagePullPolicy: token-of-pulling", f"{policy}\n{_named('env')}")
    named = ("imagePullSecrets", "nodeSelector", "tolerations", "affinity", "priorityClassName")
    line = "automountServiceAccountToken: true"
    return _lines(text, line, "\n".join([line, *map(_named, named)]))


def _with_callers(text: str) -> str:
    """The Deployment of an operator with webhooks; what it has for their callers depends on values."""
    flag = f'        - "--webhook-client-ca={CALLERS_FOLDER}/{CALLERS_FILE}"\n'
    mount = f"        - name: callers\n          mountPath: {CALLERS_FOLDER}\n          readOnly: true\n"
    name = '{{ include "operator.fullname" . }}-webhook-callers'
    volume = f"      - name: callers\n        configMap:\n          name: {name}\n"
    total = f"        {CALLERS_SUM}: {{{{ .Values.{_AUTHORITIES} | sha256sum | quote }}}}\n"
    text = re.sub(rf"^ +{CALLERS_SUM}: .*\n", lambda _: total, text, flags=re.MULTILINE)
    for block in (flag, mount, volume, total):
        assert text.count(block) == 1, block
        text = text.replace(block, f"{{{{- if .Values.{_AUTHORITIES} }}}}\n{block}{{{{- end }}}}\n")
    head, _, rest = text.partition(_TOKENS)
    address, line, more = rest.partition("\n") if "--webhook-address" in rest.partition("\n")[0] else ("", "", rest)
    tokens = _TOKENS.replace("verify", "{{ .Values.webhookCallers.tokens }}") + address + line
    return f'{head}{_NAMES}{{{{- if ne .Values.webhookCallers.tokens "ignore" }}}}\n{tokens}{{{{- end }}}}\n{more}'


_TOKENS: Final = '        - "--webhook-tokens=verify"\n'
_NAMES: Final = """\
{{- range .Values.webhookCallers.clientNames }}
        - {{ printf "--webhook-client-name=%s" . | quote }}
{{- end }}
"""
_VALUE: Final = '$name (ternary (toJson $value) $value (kindIs "float64" $value)) | quote }}'
_OPTIONS: Final = (
    f'{{{{- range $name, $value := .Values.options }}}}\n- {{{{ printf "--%%s=%%v" {_VALUE}\n{{{{- end }}}}\n'
)
_OWN_OPTIONS: Final = (
    "{{- range $name, $value := pick .Values.options NAMES }}",
    f'- {{{{ printf "--option=%s=%v" {_VALUE}',
    "{{- end }}",
)
_WATCHED: Final = (
    "{{- with .Values.options.namespace }}",
    '- {{ printf "--watch-namespace=%s" . | quote }}',
    "{{- end }}",
)
_MORE_TIME: Final = 90
"""Seconds for the Job's pod to start and, after the users' objects, for the operator's pods to end."""


def _block(condition: str, value: str) -> str:
    return f"{{{{- {condition} }}}}\n{{{{- {value} | nindent %(at)s }}}}\n{{{{- end }}}}"


def _named(name: str) -> str:
    return f"{{{{- with .Values.{name} }}}}\n{name}: {{{{- toYaml . | nindent %(in)s }}}}\n{{{{- end }}}}"


def _lines(text: str, line: str, replacement: str, *others: str) -> str:
    """The text, with the only line that equals ``line`` or one of ``others`` replaced by the lines of ``replacement``,
    at the same indentation.
    """
    lines = [text_line for text_line in text.splitlines() if text_line.strip() in (line, *others)]
    assert len(lines) == 1, f"{line!r} is in the template {len(lines)} times"
    indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    inserted = replacement % {"in": len(indent) + 2, "at": len(indent)} if "%(" in replacement else replacement
    return text.replace(lines[0], "\n".join(indent + text_line for text_line in inserted.split("\n")), 1)


def _object(**properties: Document) -> Document:
    return {"type": "object", "additionalProperties": False, "properties": properties}


_TEXT: Final[Document] = {"type": "string"}
_TEXTS: Final[Document] = {"type": "array", "items": _TEXT}
_SWITCH: Final[Document] = {"type": "boolean"}
_ANY_OBJECT: Final[Document] = {"type": "object"}
_WORDS: Final[Document] = {"type": "object", "additionalProperties": {"type": "string"}}
_OBJECTS: Final[Document] = {"type": "array", "items": {"type": "object"}}
_SCHEMA: Final[Document] = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    **_object(
        **{"global": _ANY_OBJECT},
        image=_object(
            repository={"type": "string", "minLength": 1},
            tag=_TEXT,
            digest={"type": "string", "pattern": "^(sha256:[0-9a-f]{64})?$"},
            pullPolicy={"enum": ["Always", "IfNotPresent", "Never"]},
        ),
        imagePullSecrets=_OBJECTS,
        replicas={"type": "integer", "minimum": 0},
        resources=_ANY_OBJECT,
        fullnameOverride={"type": "string", "maxLength": 40},
        serviceAccount=_object(create=_SWITCH, name=_TEXT, annotations=_WORDS),
        rbac=_object(create=_SWITCH),
        userRoles=_object(create=_SWITCH),
        crds=_object(install=_SWITCH, keep=_SWITCH),
        uninstall=_object(objects=_SWITCH, timeout={"type": "integer", "minimum": 1}),
        logLevel={"enum": ["debug", "info", "warning", "error"]},
        options={"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}},
        extraArgs=_TEXTS,
        env=_OBJECTS,
        podLabels=_WORDS,
        podAnnotations=_WORDS,
        nodeSelector=_WORDS,
        tolerations=_OBJECTS,
        affinity=_ANY_OBJECT,
        priorityClassName=_TEXT,
        podDisruptionBudget=_object(enabled=_SWITCH),
        networkPolicy=_object(enabled=_SWITCH, webhookNetworks=_TEXTS),
        webhookCallers=_object(clientCA=_TEXT, clientNames=_TEXTS, tokens={"enum": ["ignore", "verify", "require"]}),
        monitoring=_object(enabled=_SWITCH),
    ),
}
