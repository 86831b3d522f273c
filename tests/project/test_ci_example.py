"""Workflows and jobs in ``examples`` and on pages run as they stand; only GitHub and the cluster are stood in for."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Client, Listener
from pathlib import Path
from typing import Any

import pytest
import yaml

from kstream_plan.cli import run
from kstream_plan.documents.policy_file import load_policy
from kstream_plan.render.check.markdown import MARK

EXAMPLES = Path(__file__).parents[2] / "examples"
PAGE = Path(__file__).parents[2] / "kstream_plan/pages/kubernetes-logs.md"
_STAND_INS = {
    "pip": "exit 0",
    "kubectl": f'cat "{EXAMPLES}/leader-log/orders.log"',
    "git": 'test "$1" = show && cat "of-main/${2#origin/main:}"',
    "kstream-plan": f'exec "{sys.executable}" -m kstream_plan "$@"',
    "gh": """echo "gh $*" >> gh.log
case "$1 $2" in
  "run list") cat runs ;;
  "run download") test "$3" = 4711 ;;
  "api --paginate") cat comment-id ;;
esac""",
}


#: Asks the process of the tests, which has a Spark session, for the command's answer.
_ASKING = """import os, sys
from multiprocessing.connection import Client

with Client(os.environ["ANSWERS"]) as tests:
    tests.send((os.getcwd(), sys.argv[1:]))
    code, out, err = tests.recv()
sys.stdout.write(out)
sys.stderr.write(err)
sys.exit(code)
"""


def _workflow(name: str) -> dict[Any, Any]:
    return yaml.safe_load((EXAMPLES / "ci" / name).read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def _steps(name: str) -> dict[str, str]:
    (job,) = _workflow(name)["jobs"].values()
    return {step.get("name", step["run"]): step["run"] for step in job["steps"] if "run" in step}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository's working folder, with programs that stand in for others."""
    (tmp_path / "bin").mkdir()
    for name, script in _STAND_INS.items():
        program = tmp_path / "bin" / name
        program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        program.chmod(0o755)
    shutil.copy(EXAMPLES / "ci/policy.yaml", tmp_path)
    (tmp_path / "of-main").mkdir()
    for folder in (tmp_path, tmp_path / "of-main"):
        shutil.copy(EXAMPLES / "leader-log/app.properties", folder)
        (folder / "replicas").write_text("5\n")
    (tmp_path / "comment-id").write_text("")
    (tmp_path / "runs").write_text("4711\n")
    return tmp_path


def _run(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a step as GitHub's runner does: ``bash -e`` with pipefail."""
    env = os.environ | {
        "PATH": f"{folder}/bin:{os.environ['PATH']}",
        "BASE": "main",
        "DEFAULT_BRANCH": "trunk",
        "PULL_REQUEST": "12",
        "GITHUB_REPOSITORY": "shop/orders",
        "PYTHONPATH": str(EXAMPLES.parent),
    }
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


def test_the_policy_is_one() -> None:
    assert load_policy(EXAMPLES / "ci/policy.yaml").limits("payments-eu")["min_standbys"].value == 1


def test_the_scheduled_job_publishes_a_snapshot_that_the_check_finds(checkout: Path) -> None:
    for script in _steps("snapshot.yml").values():
        done = _run(script, checkout)
        assert done.returncode == 0, done.stderr
    assert (checkout / "snapshot.json").exists()
    upload = next(step for step in _workflow("snapshot.yml")["jobs"]["snapshot"]["steps"] if "upload" in str(step))
    assert upload["with"]["path"] == "snapshot.json"
    assert f"--name {upload['with']['name']}" in _steps("check.yml")["Newest snapshot"]
    assert "snapshot.yml" in _steps("check.yml")["Newest snapshot"]


@pytest.mark.parametrize("runs", ["", "4712\n"])
def test_without_a_snapshot_the_check_says_so(checkout: Path, runs: str) -> None:
    (checkout / "runs").write_text(runs)
    done = _run(_steps("check.yml")["Newest snapshot"], checkout)
    assert done.returncode == 1
    assert done.stdout.startswith(
        "::error::There is no snapshot to check against. Run the workflow snapshot.yml on trunk"
    )
    assert "--workflow snapshot.yml --branch trunk" in (checkout / "gh.log").read_text()


def test_what_prepare_leaves_is_kept_with_the_installation() -> None:
    steps = _workflow("check.yml")["jobs"]["check"]["steps"]
    (kept,) = (step["with"]["path"].splitlines() for step in steps if "actions/cache" in step.get("uses", ""))
    assert kept == ["~/kstream-plan", "~/.cache/kstream-plan"]
    assert _steps("check.yml")["Install"].splitlines()[-1] == f"{kept[0]}/bin/kstream-plan prepare"


def test_whatever_the_check_reads_starts_it() -> None:
    paths = _workflow("check.yml")[True]["pull_request"]["paths"]  # YAML takes the name "on" for true
    assert paths == ["app.properties", "replicas", "policy.yaml"]


class _Steps:
    """Runs the steps of a workflow whose ``kstream-plan`` is answered here: a Java each would take most of the time."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._folder = folder
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        (folder / "asking.py").write_text(_ASKING, encoding="utf-8")
        asking = f'#!/bin/sh\nexec "{sys.executable}" "{folder}/asking.py" "$@"\n'
        (folder / "bin/kstream-plan").write_text(asking, encoding="utf-8")

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        with Listener(family="AF_UNIX") as listener, ThreadPoolExecutor(1) as beside:
            self._monkeypatch.setenv("ANSWERS", str(listener.address))
            step = beside.submit(_run, script, self._folder)
            step.add_done_callback(lambda _: Client(listener.address).close())
            while True:
                with listener.accept() as asking:
                    try:
                        folder, arguments = asking.recv()
                    except EOFError:
                        return step.result()
                    asking.send(self._answer(folder, arguments))

    def _answer(self, folder: str, arguments: list[str]) -> tuple[int, str, str]:
        self._monkeypatch.chdir(folder)
        code = run(arguments)
        return code, *self._capsys.readouterr()


@pytest.mark.spark
def test_the_check_of_a_pull_request(
    checkout: Path, spark: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = _Steps(checkout, monkeypatch, capsys)
    steps = _steps("check.yml")
    here.run(_steps("snapshot.yml")["Snapshot"])
    policy = (checkout / "policy.yaml").read_text().replace("max_snapshot_age: 24h", "max_snapshot_age: 9000d")
    (checkout / "policy.yaml").write_text(policy.replace("max_pause_per_task: 30s", "max_pause_per_task: 20s"))
    for name in ("Newest snapshot", "Plan for the base branch"):
        done = here.run(steps[name])
        assert done.returncode == 0, done.stderr
    done = here.run(steps["Check"])
    assert done.returncode == 3, done.stderr
    assert "::error title=orders%3A max_pause_per_task::" in done.stdout
    upload = next(step for step in _workflow("check.yml")["jobs"]["check"]["steps"] if "upload" in str(step))
    assert all((checkout / file).exists() for file in upload["with"]["path"].splitlines())
    assert "NO:</strong> 1 of 8 rules is broken: max_pause_per_task." in (checkout / "report.html").read_text()
    assert (checkout / "comment.md").read_text().startswith(f"{MARK}\n")
    assert here.run(steps["Comment"]).returncode == 0
    assert (checkout / "gh.log").read_text().splitlines()[-1] == "gh pr comment 12 --body-file comment.md"
    (checkout / "comment-id").write_text("99\n")
    assert here.run(steps["Comment"]).returncode == 0
    assert "--method PATCH repos/shop/orders/issues/comments/99" in (checkout / "gh.log").read_text().splitlines()[-1]
    changed = (checkout / "app.properties").read_text().replace("max.warmup.replicas = 2", "max.warmup.replicas = 4")
    (checkout / "app.properties").write_text(changed)
    done = here.run(steps["Check"])
    assert done.returncode == 0, done.stdout
    (checkout / "replicas").write_text("6\n")
    done = here.run(steps["Check"])
    assert "orders: 5 → 6 instances" in done.stdout
    assert "before: " in done.stdout


def _cron_job() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((EXAMPLES / "kubernetes/cronjob.yaml").read_text(encoding="utf-8")))


def test_the_page_has_the_manifest_as_it_is_and_its_parts_fit_together() -> None:
    manifest, _, _ = (EXAMPLES / "kubernetes/cronjob.yaml").read_text(encoding="utf-8").partition("\n---")
    assert manifest.partition("\n")[2] in PAGE.read_text(encoding="utf-8")
    job, claim, account, role, binding = _cron_job()
    pod = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    config, snapshots = pod["volumes"]
    assert config["configMap"]["name"] == "kstream-plan"
    assert "create configmap kstream-plan " in PAGE.read_text(encoding="utf-8")
    assert snapshots["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    assert {one["mountPath"] for one in pod["containers"][0]["volumeMounts"]} == {"/config", "/snapshots"}
    assert pod["serviceAccountName"] == account["metadata"]["name"] == binding["subjects"][0]["name"]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert f"--uid {pod['securityContext']['runAsUser']} " in (EXAMPLES / "kubernetes/Dockerfile").read_text()


@pytest.mark.spark
def test_the_cron_job_checks_the_newest_snapshot(
    checkout: Path, spark: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = _Steps(checkout, monkeypatch, capsys)
    (container,) = _cron_job()[0]["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    shell, options, script = container["command"]
    assert (shell, options) == ("bash", "-ec")
    (checkout / "snapshots").mkdir()
    folders = {"/config": checkout, "/tmp": checkout, "/snapshots": checkout / "snapshots"}
    script = re.sub("|".join(folders), lambda found: str(folders[found[0]]), script)
    policy = checkout / "policy.yaml"
    policy.write_text("version: 1\ndefaults: {max_pause_per_task: 20s}\n")
    done = here.run(script)
    assert done.returncode == 3, done.stderr
    assert "max_pause_per_task" in done.stdout
    policy.write_text("version: 1\ndefaults: {max_pause_per_task: 1h}\n")
    (checkout / "bin/kubectl").write_text("#!/bin/sh\necho nothing happened\n")
    done = here.run(script)
    assert done.returncode == 0, "the last snapshot stays"
    (checkout / "bin/kubectl").write_text("#!/bin/sh\nexit 1\n")
    assert here.run(script).returncode == 1


@pytest.mark.spark
def test_the_ci_job_on_the_page_checks_the_published_snapshot(
    checkout: Path, spark: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = PAGE.read_text(encoding="utf-8")
    job = yaml.safe_load(text[text.index("name: kstream-plan\non:") :].partition("```")[0])
    steps = [step["run"] for step in job["jobs"]["check"]["steps"] if "run" in step]
    here = _Steps(checkout, monkeypatch, capsys)
    here.run(_steps("snapshot.yml")["Snapshot"])
    (checkout / "policy.yaml").write_text("version: 1\ndefaults: {max_pause_per_task: 20s}\n")
    codes = [here.run(step.replace("24h", "9000d")).returncode for step in steps]
    assert codes == [0, 0, 3]
