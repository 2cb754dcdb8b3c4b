"""controller-runtime's envtest, started with the folder of ``setpoint envtest``.

It takes half a minute, and modules from a registry: ``make test-peers``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from setpoint.apps.envtest.install import install

pytestmark = pytest.mark.peers
SUITE = Path(__file__).parent / "suite"


def test_what_users_of_envtest_do_works(tmp_path: Path) -> None:
    if shutil.which("go") is None:
        pytest.skip("Go is not installed")
    fetched = subprocess.run(["go", "mod", "download"], cwd=SUITE, capture_output=True, text=True, check=False)
    if fetched.returncode:
        pytest.skip(f"Go's modules can't be fetched: {fetched.stderr[-300:]}")
    install(tmp_path)
    environment = {**os.environ, "KUBEBUILDER_ASSETS": str(tmp_path)}
    ran = subprocess.run(
        ["go", "test", "-count=1", "./..."], cwd=SUITE, env=environment, capture_output=True, text=True, check=False
    )
    assert not ran.returncode, ran.stdout + ran.stderr
