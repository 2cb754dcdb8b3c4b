"""``manifests``: the objects that a program needs in a cluster, in one of several forms."""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path, PurePath
from typing import Annotated, Any, Final

from cyclopts import Parameter

from setpoint.apps.error_reports import UsageError
from setpoint.cli.default_names import program_name, webhook_name
from setpoint.cli.deployment_flags import CallerDeploymentFlags, DeploymentFlags, Form
from setpoint.cli.program_arguments import Parts
from setpoint.cli.program_options import flags_of, with_values
from setpoint.controller import Controller, watched_kinds
from setpoint.crd import CustomResource
from setpoint.deploy.container_resources import GUESSED, ResourcesError, measured_in
from setpoint.deploy.crds import definitions_of, own_kinds
from setpoint.deploy.file_tree import File, TreeError, recorded, write
from setpoint.deploy.installation import Installation
from setpoint.meta.names import dns1123_label, label_value
from setpoint.meta.text_escaping import visible
from setpoint.webhook import Admission, AdmissionError, Policy, ServiceTarget, configurations, with_conversions
from setpoint.webhook.policy import policy_documents
from setpoint.webhook.registration import TargetError, converters_of, definition_name

_SCOPE: Final = "manifests "


def _files(form: Form, operator: Installation) -> dict[str, File]:
    """The files of a form that consists of a folder. The form's code is imported only here, because ``run`` does not
    need it.
    """
    if form == "helm":
        from setpoint.deploy.helm import helm

        return helm(operator)
    if form == "olm":
        from setpoint.deploy.olm import olm

        return olm(operator)
    from setpoint.deploy.kustomize import kustomize

    return kustomize(operator)


_DEFAULT_DEPLOYMENT: Final = DeploymentFlags()
_ANY_CALLER: Final = CallerDeploymentFlags()


def manifests_command(program: Parts) -> Callable[..., None]:
    """The command ``manifests`` of a program with these parts."""
    command, given_name, policies = program.command, program.operator.name, program.operator.policies

    def manifests(
        *,
        image: str | None = None,
        form: Form = "plain",
        output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
        force: Annotated[bool, Parameter(negative="")] = False,
        deployment: DeploymentFlags = _DEFAULT_DEPLOYMENT,
        callers: CallerDeploymentFlags = _ANY_CALLER,
        rbac: bool = True,
        service: str | None = None,
        name: str | None = None,
    ) -> None:
        """Print the objects that the program needs in a cluster, as YAML for kubectl apply, or write them to a folder.

        Without --image: its CustomResourceDefinitions and permissions, for a program that runs outside the cluster.
        With --image: everything, for one that runs in it.

        Parameters
        ----------
        image
            The image whose entry point is this program.
        form
            plain for kubectl apply -f, kustomize for kubectl apply -k, helm for a chart, olm for a bundle.
        output
            The folder to which the files are written.
        force
            Also overwrite files that were changed by hand.
        rbac
            Without --image: also print the ClusterRole that the controllers' declarations need.
        service
            The Service of the webhooks; default with --image: the program's name with -webhook.
        name
            The name of the program's objects; default: the first controller with its API group, and for webhook
            configurations the API group.
        """
        watch_namespace = deployment.watch_namespace
        deployment.check()
        parts, own = with_values(program, deployment.option)
        controllers, admissions = parts.controllers, parts.admissions
        try:
            if image is None:
                if form != "plain" or output is not None:
                    raise UsageError(f"--form {form} needs --image, the image whose entry point is this program")
                if callers != _ANY_CALLER:
                    raise UsageError(
                        "flags about callers of webhooks need --image; without --image, give these flags to run"
                    )
                text = _outside(
                    command, controllers, admissions, policies, name or given_name, service, deployment.namespace, rbac
                )
                sys.stdout.write(text)
                _compare(command, deployment.kubernetes, text, controllers)
                return
            if (form == "plain") is not (output is None):
                raise UsageError(
                    "--form kustomize, helm and olm need --output DIR, and --output needs one of these forms"
                )
            operator = operator_of(
                controllers,
                admissions,
                image=_image(image),
                given_name=name or given_name,
                namespace=_namespace("--namespace", deployment.namespace),
                watch_namespace=watch_namespace and _namespace("--watch-namespace", watch_namespace),
                certificates=deployment.certificates,
                callers=callers.callers(form),
                replicas=deployment.replicas,
                shards=deployment.shards,
                shards_by=deployment.shards_by,
                resources=GUESSED if deployment.resources is None else measured_in(deployment.resources),
                service=service or "",
                name_given=name or "",
                release=_release(deployment.release, form),
                policies=policies,
                options=_printed(program, own),
                option_names=flags_of(program.operator.options),
            )
            served = operator.served
            if callers != _ANY_CALLER and not served:
                raise UsageError("there are no webhooks, so flags about their callers have no effect")
            if converters_of(served) and watch_namespace is not None:
                _warn(command, "definitions have no namespace, so the conversion serves the objects of all namespaces")
            if policies and form == "olm":
                _warn(
                    command, "a bundle can't contain policies: apply the policies that manifests prints without --form"
                )
            from setpoint.deploy.plain_yaml import plain

            text = plain(operator, monitoring=deployment.monitoring) if output is None or deployment.kubernetes else ""
            if output is None:
                sys.stdout.write(text)
                _compare(command, deployment.kubernetes, text, controllers)
                return
            if not force and output.is_dir():
                _check_folder(output, form)
            done = write(output, _files(form, operator), force=force, scope=f"{_SCOPE}{form}")
        except (AdmissionError, ResourcesError, TargetError, TreeError) as problem:
            raise UsageError(str(problem)) from None
        for line in done.lines():
            print(visible(line))  # noqa: T201 - this is the user's terminal
        _compare(command, deployment.kubernetes, text, controllers)
        if done.modified:
            raise SystemExit(1)

    return manifests


def operator_of(
    controllers: Sequence[Controller[Any]],
    admissions: Sequence[Admission[Any]],
    *,
    image: str,
    given_name: str | None,
    **more: Any,
) -> Installation:
    """The operator of these controllers and admissions. ``given_name`` is the name that the user or the program has
    chosen, or None; ``more`` are fields of `Installation`.

    Raises:
        UsageError: the name is not valid, or there is no unique default for it (see `program_name`, `webhook_name`).
    """
    served = with_conversions(admissions, _kinds(controllers, admissions))
    return Installation(
        program=program_name(controllers, given_name, served),
        image=image,
        controllers=controllers,
        served=served,
        configuration=webhook_name(served, given_name) if admissions else "",
        kinds=[kind for kind in _kinds(controllers, admissions) if issubclass(kind, CustomResource)],
        **more,
    )


def _kinds(controllers: Sequence[Controller[Any]], admissions: Sequence[Admission[Any]]) -> list[type[Any]]:
    """The classes of the kinds that the controllers reconcile and the admissions decide on, in all their versions. A
    kind that is only owned, watched or read may be another project's, whose definition must not be replaced.
    """
    kinds = list(dict.fromkeys((*watched_kinds(controllers), *(admission.kind for admission in admissions))))
    return own_kinds(kinds, controllers, admissions)


def _printed(program: Parts, own: Any) -> dict[str, str | bool | float]:
    """The options that differ from their defaults, as flags of ``run`` have them.

    Raises:
        UsageError: an option must not be printed, or its type has no single value.
    """
    if own is None:
        return {}
    defaults, printed = program.operator.default_options(), {}
    for field in dataclasses.fields(own):
        value, flag = getattr(own, field.name), field.name.replace("_", "-")
        if value == getattr(defaults, field.name):
            continue
        if not field.repr:
            variable = f"{program.operator.prefix}{field.name.upper()}"
            raise UsageError(f"--option {flag}: it is secret (repr=False): set {variable} from a Secret")
        if isinstance(value, PurePath):
            value = value.as_posix()
        if isinstance(value, str):
            value = value.replace("$", "$$")  # kubelets read $$ as $, and $(NAME) as a variable
        if not isinstance(value, str | bool | int | float):
            raise UsageError(
                f"--option {flag}: a {type(value).__name__} can't be put into the Deployment: add its flags by a "
                "patch, or in extraArgs of a chart"
            )
        printed[flag] = value
    return printed


def _check_folder(folder: Path, form: Form) -> None:
    """Raises `UsageError` if the folder holds the files of a different form, which would be mixed with the new
    files.
    """
    try:
        scopes = recorded(folder).get("files", {})
    except OSError as problem:
        raise UsageError(f"{problem.filename}: {problem.strerror}") from None
    for scope, files in scopes.items():
        if files and scope.startswith(_SCOPE) and scope != f"{_SCOPE}{form}":
            other = scope.removeprefix(_SCOPE)
            raise UsageError(f"{folder} has the files of --form {other}: give --form {form} another --output")


def _namespace(flag: str, name: str) -> str:
    if problems := dns1123_label(name):
        raise UsageError(f"{flag} {name!r}: {problems[0]}")
    return name


_IMAGE: Final = re.compile(
    r"(?:(?:localhost|[\w-]+(?:\.[\w-]+)+|[\w-]*[A-Z][\w-]*|[\w.-]+(?=:\d)|\[[0-9a-fA-F:]+\])(?::\d+)?/)?"
    r"[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*)*"
    r"(?::\w[\w.-]{0,127})?(?:@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?",
    re.ASCII,
)
"""Image references, by the grammar at https://github.com/distribution/reference."""
_SEMANTIC: Final = re.compile(r"\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?")


def _release(release: str, form: Form) -> str:
    """Returns ``release`` if it is empty, or if it is valid as the value of a label and, for charts and bundles, as a
    semantic version. Raises `UsageError` otherwise.
    """
    if problems := label_value(release):
        raise UsageError(f"--release {release!r}: {problems[0]}")
    if release and form in ("helm", "olm") and not _SEMANTIC.fullmatch(release):
        raise UsageError(
            f"--release {release!r}: a version of --form {form} is MAJOR.MINOR.PATCH, such as 1.2.3 or 1.2.3-rc.1"
        )
    return release


def _image(image: str) -> str:
    if not _IMAGE.fullmatch(image):
        raise UsageError(f"--image {image!r}: an image is REGISTRY/NAME:TAG, such as registry.example.com/shop:1.0.0")
    return image


def _warn(command: str, text: str) -> None:
    print(visible(f"{command}: {text}"), file=sys.stderr)  # noqa: T201 - this is the user's terminal


def _compare(command: str, version: str, documents: str, controllers: Sequence[Controller[Any]]) -> None:
    """With a version, names what a cluster of that version lacks, and exits with 1 if that is anything. Fields that
    users of a custom kind may set, but need not, are only named.
    """
    if not version:
        return
    from setpoint.cli.cluster_version import missing_in, newer_parts

    kinds = watched_kinds(controllers)
    lines = missing_in(version, documents, kinds)
    for line in newer_parts(version, kinds):
        _warn(command, line)
    for line in lines:
        _warn(command, line)
    if lines:
        raise SystemExit(1)


def _outside(
    command: str,
    controllers: Sequence[Controller[Any]],
    admissions: Sequence[Admission[Any]],
    policies: Sequence[Policy],
    name: str | None,
    service: str | None,
    namespace: str,
    rbac: bool,
) -> str:
    """The objects of a program that runs outside the cluster."""
    from setpoint.deploy.roles import role_of_declarations
    from setpoint.meta.yaml_text import to_yaml
    from setpoint.permissions import access_reviews, declared, leases

    target = ServiceTarget(service, namespace) if service is not None else None
    kinds = _kinds(controllers, admissions)
    served = with_conversions(admissions, kinds)
    if target is None and (needing := converters_of(served)):
        # Without it an API server only changes apiVersion and drops fields that the version does not have.
        names = ", ".join(definition_name(kind) for kind in needing)
        raise SystemExit(f"{command}: a webhook converts {names}: name its Service with --service")
    documents = definitions_of(kinds, target)
    if target is not None:
        documents += configurations(served, webhook_name(served, name), target)
    if policies:
        documents += policy_documents(policies, program_name(controllers, name, served))
    if rbac:
        grants = declared(controllers, served) | (leases() if controllers else set()) | access_reviews()
        documents.append(role_of_declarations(grants, program_name(controllers, name, served)))
    return to_yaml(documents)
