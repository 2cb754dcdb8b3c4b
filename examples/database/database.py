"""database.py: PostgreSQL as a service: a Database is a StatefulSet with its volumes, a password, a name, backups, and
a primary among its servers (failover.py).

python examples/database/database.py run --embedded      # webhooks and all; no cluster needed
"""

import secrets
from collections.abc import Callable

from dbkinds import Database
from failover import BEGIN, PRIMARY, ROLE, CommandFailed, keep_primary, labels_of, lifespan

import setpoint as sp
from setpoint.models.apps_v1 import StatefulSet, StatefulSetPersistentVolumeClaimRetentionPolicy, StatefulSetSpec
from setpoint.models.batch_v1 import CronJob, CronJobSpec, Job, JobSpec, JobTemplateSpec
from setpoint.models.core_v1 import (
    Container,
    ContainerPort,
    EnvVar,
    EnvVarSource,
    ExecAction,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeClaimVolumeSource,
    Pod,
    PodSecurityContext,
    PodSpec,
    PodTemplateSpec,
    Probe,
    ResourceRequirements,
    Secret,
    SecretKeySelector,
    Service,
    ServicePort,
    ServiceSpec,
    Volume,
    VolumeMount,
    VolumeResourceRequirements,
)

PORT = 5432
USER = 999
"""The user ``postgres`` of the image. Its servers are started by commands that root is refused."""
LONGEST = 40
"""Characters of a name: that of a CronJob has at most 52, and ours end with ``-backup``."""

# -- what is said about an object before it is stored ------------------------------------------------------------------


def fill_in(database: Database) -> None:
    backup = database.spec.backup
    if (backup.schedule or database.spec.restore_from) and not backup.claim:
        backup.claim = f"{database.name}-backups"


def judge(database: Database, review: sp.Review[Database]) -> None:
    """The rules that a schema can't express, or that need the stored object."""
    if len(database.name) > LONGEST:
        review.invalid("metadata.name", database.name, f"must be no more than {LONGEST} characters")
    old = review.old
    if old is not None and database.spec.storage != old.spec.storage:
        review.forbidden("spec.storage", "the volume of a database keeps its size")
    if old is not None and database.spec.restore_from != old.spec.restore_from:
        review.forbidden("spec.restoreFrom", "only a new database begins with a backup")


admission = sp.Admission(Database).defaults(fill_in).validates(judge)

# -- the children ------------------------------------------------------------------------------------------------------


def secret_of(database: Database) -> str:
    return f"{database.name}-password"


def password_of(database: Database, variable: str) -> EnvVar:
    key = SecretKeySelector(name=secret_of(database), key="password")
    return EnvVar(name=variable, value_from=EnvVarSource(secret_key_ref=key))


def backups_of(database: Database) -> Volume:
    claim = PersistentVolumeClaimVolumeSource(claim_name=database.spec.backup.claim)
    return Volume(name="backups", persistent_volume_claim=claim)


def service_of(database: Database) -> Service:
    """The name of the primary, whichever server that is."""
    port, selector = ServicePort(name="postgres", port=PORT), {**labels_of(database), ROLE: PRIMARY}
    return Service.named(database.name, spec=ServiceSpec(cluster_ip="None", selector=selector, ports=[port]))


def stateful_set_of(database: Database) -> StatefulSet:
    spec, labels = database.spec, labels_of(database)
    mounts = [VolumeMount(name="data", mount_path="/var/lib/postgresql")]
    if spec.restore_from:
        # The image reads what is there when its volume is empty, and never again.
        place = f"/docker-entrypoint-initdb.d/{spec.restore_from}"
        mounts.append(VolumeMount(name="backups", mount_path=place, sub_path=spec.restore_from, read_only=True))
    container = Container(
        name="postgres",
        image=spec.image,
        command=["/bin/bash", "-c", BEGIN],
        env=[
            password_of(database, "POSTGRES_PASSWORD"),
            EnvVar(name="PRIMARY", value=database.name),
            EnvVar(name="SERVERS", value="1" if spec.replicas == 1 else "several"),
        ],
        ports=[ContainerPort(name="postgres", container_port=PORT)],
        readiness_probe=Probe(exec=ExecAction(command=["pg_isready", "--username=postgres"]), period_seconds=5),
        resources=spec.resources,
        volume_mounts=mounts,
    )
    pod = PodSpec(
        containers=[container],
        volumes=[backups_of(database)] if spec.restore_from else [],
        security_context=PodSecurityContext(run_as_user=USER, run_as_group=USER, fs_group=USER),
    )
    request = VolumeResourceRequirements(requests={"storage": str(spec.storage)})
    claim = PersistentVolumeClaimSpec(access_modes=["ReadWriteOnce"], resources=request)
    return StatefulSet.named(
        database.name,
        spec=StatefulSetSpec(
            replicas=spec.replicas,
            selector=sp.LabelSelector(match_labels=labels),
            service_name=database.name,
            template=PodTemplateSpec(metadata=sp.ObjectMeta(labels=labels), spec=pod),
            volume_claim_templates=[PersistentVolumeClaim.named("data", spec=claim)],
            persistent_volume_claim_retention_policy=StatefulSetPersistentVolumeClaimRetentionPolicy(
                when_deleted="Delete", when_scaled="Retain"
            ),
        ),
    )


def backup_job(database: Database) -> JobSpec:
    """A Job that writes one backup: whole, under a name of its own, or not at all."""
    script = (
        'set -e; file="/backups/$NAME-$(date -u +%Y%m%d-%H%M%S).sql"; trap \'rm -f "$file.part"\' EXIT; '
        'pg_dumpall --host="$PGHOST" --username=postgres > "$file.part"; mv "$file.part" "$file"'
    )
    container = Container(
        name="backup",
        image=database.spec.image,
        command=["/bin/sh", "-c", script],
        env=[
            EnvVar(name="NAME", value=database.name),
            EnvVar(name="PGHOST", value=database.name),
            password_of(database, "PGPASSWORD"),
        ],
        resources=ResourceRequirements(requests={"cpu": "100m", "memory": "64Mi"}, limits={"memory": "512Mi"}),
        volume_mounts=[VolumeMount(name="backups", mount_path="/backups")],
    )
    pod = PodSpec(restart_policy="Never", containers=[container], volumes=[backups_of(database)])
    return JobSpec(backoff_limit=3, template=PodTemplateSpec(spec=pod))


def cron_job_of(database: Database) -> CronJob:
    spec = CronJobSpec(
        schedule=database.spec.backup.schedule or "",
        concurrency_policy="Forbid",
        job_template=JobTemplateSpec(spec=backup_job(database)),
    )
    return CronJob.named(f"{database.name}-backup", spec=spec)


# -- the controller ----------------------------------------------------------------------------------------------------


def is_over(job: Job, how: str) -> bool:
    return any(condition.type == how and condition.status == "True" for condition in job.status.conditions)


def is_of_another(secret: Secret, database: Database) -> bool:
    owner = secret.metadata.controller
    return owner is not None and owner.uid != database.uid


def databases_of_pod(pod: sp.Head) -> list[str]:
    """The Database that a pod belongs to."""
    labels = pod.labels
    is_ours = labels.get("app.kubernetes.io/name") == "database" and "app.kubernetes.io/instance" in labels
    return [f"{pod.namespace}/{labels['app.kubernetes.io/instance']}"] if is_ours else []


def databases_of(secret: sp.Head) -> list[str]:
    """The Database that a Secret belongs to. With `owns` the operator could also change and delete every Secret."""
    owners = secret.owner_references
    return [f"{secret.namespace}/{owner.name}" for owner in owners if owner.kind == "Database" and owner.controller]


def is_out(stateful_set: StatefulSet) -> bool:
    """Whether all its pods that there are have the present template."""
    status = stateful_set.status
    is_seen = status.observed_generation == stateful_set.metadata.generation
    return is_seen and status.current_revision == status.update_revision


async def clean_up(database: Database, ctx: sp.Context) -> sp.Outcome:
    """The last backup, before anything goes."""
    stateful_set = await ctx.get(StatefulSet, database.name)
    if not database.spec.backup.schedule or stateful_set is None or stateful_set.is_deleting:
        return sp.done()
    name = f"{database.name}-last-backup"
    job = await ctx.get(Job, name) or await ctx.apply(Job.named(name, spec=backup_job(database)))
    if is_over(job, "Complete"):
        return sp.done()
    if is_over(job, "Failed"):
        message = f"Job {name} has failed. Take spec.backup.schedule away to have the database go without a last backup"
        ctx.set_condition("LastBackup", False, "Failed", message)
    else:
        message = f"Job {name} has to write the last backup before anything goes"
        ctx.set_condition("LastBackup", False, "Waiting", message)
    return sp.after(60, "the last backup is being written")


def controller_of(new_password: Callable[[], str]) -> sp.Controller[Database]:
    """The controller, with what makes up passwords."""

    async def has_password(database: Database, ctx: sp.Context) -> bool:
        """Makes the Secret if it is time for that, and never writes it again: the database knows that password."""
        secret = await ctx.get(Secret, secret_of(database))
        if secret is not None and is_of_another(secret, database):
            ctx.set_condition("Ready", False, "NameTaken", f"Secret {secret.name} belongs to another object")
            return False
        if secret is None and await ctx.get(StatefulSet, database.name) is not None:
            message = f"Secret {secret_of(database)} is gone, and only it knew the password: create it again by hand"
            ctx.set_condition("Ready", False, "PasswordLost", message)
            return False
        if secret is None:
            new_secret = Secret.named(
                secret_of(database), labels=labels_of(database), string_data={"password": new_password()}
            )
            new_secret.immutable = True
            await ctx.create(new_secret)
        return True

    async def reconcile(database: Database, ctx: sp.Context) -> sp.Outcome:
        if not await has_password(database, ctx):
            return sp.done()
        stateful_sets = await ctx.keep(StatefulSet, [stateful_set_of(database)])
        problem, primary, again = "", None, None
        try:
            primary, again = await keep_primary(database, ctx)
        except (CommandFailed, OSError) as failed:
            problem = str(failed)
        if primary is not None:  # and not before: the name would lead nowhere
            await ctx.keep(Service, [service_of(database)])
        jobs = await ctx.keep(CronJob, [cron_job_of(database)] if database.spec.backup.schedule else [])
        status = database.status
        status.host, status.secret = f"{database.name}.{database.namespace}.svc", secret_of(database)
        if jobs:
            status.last_backup = jobs[0].status.last_successful_time
        is_rolled_out = bool(stateful_sets) and is_out(stateful_sets[0])
        if primary is not None and is_rolled_out:
            ctx.set_condition("Ready", True, "Serving")
        else:
            ctx.set_condition("Ready", False, "CommandFailed" if problem else "Starting", problem)
        if problem:
            return sp.retry(problem)
        return sp.done() if again is None else sp.after(again, "for the primary")

    return (
        sp.Controller(Database, reconcile)
        .defaults(fill_in)
        .validates(judge)
        .owns(StatefulSet)
        .owns(Service)
        .owns(CronJob)
        .owns(Job)
        .watches(Secret, databases_of)
        .needs(Secret, "create")
        .watches(Pod, databases_of_pod)
        .needs(Pod, "patch", "delete")
        .needs(Pod, "get", "create", subresource="exec")
        .finalize(clean_up)
    )


controller = controller_of(lambda: secrets.token_urlsafe(24))

if __name__ == "__main__":
    sp.main(controller, admission, lifespan=lifespan)
