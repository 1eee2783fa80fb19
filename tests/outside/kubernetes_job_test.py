# SPDX-License-Identifier: BSD-3-Clause
"""The Job of deploy/kubernetes: its manifest, its pods, and the shell lines of docs/distributed-load.md that run it.

kubectl is a stand-in that runs the shell scripts of the pods on this machine.
"""
import json
import os
import re
import subprocess

import pytest
import yaml

from fleet_fakes import PATIENCE_SECONDS, ROOT, Fakes, write_program
from job_fields import JOB, mistakes

MANIFEST = ROOT / "deploy/kubernetes/load-job.yaml"

# `create` runs every pod of the job and keeps its log. `wait` fails if a pod has failed. `logs` prints all logs.
KUBECTL = """#!/usr/bin/python3
import os, pathlib, subprocess, sys, yaml
folder = pathlib.Path(os.environ["FAKES"])
words = sys.argv[1:]
if words[0] == "create":
    spec = yaml.safe_load(sys.stdin)["spec"]
    [container] = spec["template"]["spec"]["containers"]
    name = spec["template"]["metadata"]["labels"]["app.kubernetes.io/name"]
    running = []
    for index in range(spec["completions"]):
        results = folder / f"results-{index}"
        results.mkdir()
        command = [word.replace("/results", str(results)) for word in container["command"] + container["args"]]
        pod = {"JOB_COMPLETION_INDEX": str(index), "FAKE_HOST": f"pod{index}"}
        pod |= {variable["name"]: variable["value"] for variable in container["env"]}
        log = open(folder / f"log-{index}", "wb")
        running.append(subprocess.Popen(command, env=os.environ | pod, stdout=log, stderr=log))
    (folder / "codes").write_text(" ".join(str(pod.wait()) for pod in running))
elif words[0] == "wait":
    assert words[1:] == ["--for=condition=complete", "--timeout=10m", "job/peal-load"], words
    sys.exit(any(code != "0" for code in (folder / "codes").read_text().split()))
elif words[0] == "logs":
    assert words[1:] == ["-l", "job-name=peal-load", "--tail=-1"], words
    for log in sorted(folder.glob("log-*"), reverse=True):
        sys.stdout.write(log.read_text())
"""


@pytest.fixture(name="job")
def read_job():
    return yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))


@pytest.fixture(name="fakes")
def make_fakes(tmp_path):
    fakes = Fakes(tmp_path)
    write_program(tmp_path / "bin/kubectl", KUBECTL)
    # The stand-in for the generator writes its report to stdout, but a pod needs it in a file.
    write_program(tmp_path / "bin/peal", """#!/bin/sh
for file; do :; done
case "$2" in merge) exec "$FAKES/peal" "$@" ;; esac
"$FAKES/peal" "$@" > "$file"
""")
    fakes.environment["PATH"] = f"{tmp_path}/bin:{os.environ['PATH']}"
    yield fakes
    fakes.close()


def documented_lines(delay_seconds):
    """Returns the shell block of the document, with a shorter delay than a person needs."""
    text = (ROOT / "docs/distributed-load.md").read_text(encoding="utf-8")
    [block] = re.findall(r"^```sh\n(.*?)^```$", text, re.M | re.S)
    assert "+ 60)" in block
    return block.replace("+ 60)", f"+ {delay_seconds})")


def run_documented(fakes, delay_seconds=2, **does):
    """Runs the shell block in the folder of the stand-ins, which links to the folders of this repository."""
    for name in ("deploy", "scripts", "docs"):
        (fakes.folder / name).symlink_to(ROOT / name)
    environment = fakes.environment | {f"does_{pod}": str(code) for pod, code in does.items()}
    lines = documented_lines(delay_seconds).replace("--out", "--local-peal peal --out")
    return subprocess.run(["sh", "-c", lines], cwd=fakes.folder, env=environment, capture_output=True, text=True,
                          timeout=PATIENCE_SECONDS, check=False)


def test_every_field_exists_and_has_its_type(job):
    assert mistakes(job, JOB) == []


@pytest.mark.parametrize("path, value, sentence", [
    (["spec", "completionmode"], "Indexed", ".spec.completionmode: no such field"),
    (["spec", "backoffLimit"], "0", ".spec.backoffLimit: '0' is not of type int"),
    (["spec", "parallelism"], True, ".spec.parallelism: True is not of type int"),
    (["spec", "template", "spec", "restartPolicy"], "Always", "'Always' is none of"),
    (["spec", "template", "spec", "containers"], {}, ".spec.template.spec.containers: must be a list"),
    (["spec", "template", "spec", "containers", 0, "env", 0, "value"], 7, ".env[0].value: 7 is not of type str"),
    (["metadata", "labels", "a"], 1, ".metadata.labels.a: 1 is not of type str"),
])
def test_a_mistake_is_noticed(job, path, value, sentence):
    place = job
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    assert any(sentence in text for text in mistakes(job, JOB)), mistakes(job, JOB)


def test_what_the_job_promises(job):
    spec, pod = job["spec"], job["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert (spec["completionMode"], spec["backoffLimit"], pod["restartPolicy"]) == ("Indexed", 0, "Never")
    assert spec["completions"] == spec["parallelism"]
    assert spec["ttlSecondsAfterFinished"] > 0
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True and pod["securityContext"]["runAsUser"] > 0
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert container["resources"]["requests"] == container["resources"]["limits"]
    assert [mount["name"] for mount in container["volumeMounts"]] == [volume["name"] for volume in pod["volumes"]]
    [constraint] = pod["topologySpreadConstraints"]
    assert constraint["labelSelector"]["matchLabels"].items() <= spec["template"]["metadata"]["labels"].items()


def test_the_documented_lines_run_all_pods_and_merge(fakes, job):
    ran = run_documented(fakes)
    assert ran.returncode == 0, ran.stderr
    merged = json.loads((fakes.folder / "load-reports/merged.json").read_text())["merged"]
    assert [report["host"] for report in merged] == ["pod0", "pod1", "pod2", "pod3"]
    assert len({report["start_at"] for report in merged}) == 1
    [container] = job["spec"]["template"]["spec"]["containers"]
    assert merged[0]["words"][:len(container["args"])] == container["args"]


def test_a_failed_gate_fails_no_pod_and_is_the_exit_code(fakes):
    ran = run_documented(fakes, pod2=3)
    assert ran.returncode == 3, ran.stderr
    assert (fakes.folder / "codes").read_text() == "0 0 0 0"


def test_a_pod_that_fails_is_missed(fakes):
    ran = run_documented(fakes, pod1=1)
    assert (fakes.folder / "codes").read_text() == "0 1 0 0"
    assert ran.returncode == 1
    assert "generator 1: no report in the logs" in ran.stderr


def test_pods_that_come_too_late(fakes):
    ran = run_documented(fakes, delay_seconds=0)
    assert ran.returncode == 1
    assert "START_AT has passed" in (fakes.folder / "log-0").read_text()
    assert "generator 3: no report in the logs" in ran.stderr


def test_a_log_that_was_cut(fakes):
    fakes.folder.joinpath("log").write_text("-----BEGIN PEAL LOAD 0-----\n{}\n-----END PEAL LOAD 0 EXIT 0-----\n"
                                            "-----BEGIN PEAL LOAD 1-----\n{\"a\":")
    code, _, error = fakes.run("--logs", fakes.folder / "log", "--expect", "2")
    assert code == 1
    assert "generator 1: no report in the logs" in error


def test_logs_that_are_not_there(fakes):
    code, _, error = fakes.run("--logs", "/nowhere/load.log")
    assert (code, error) == (1, "fleet: /nowhere/load.log: No such file or directory\n")
