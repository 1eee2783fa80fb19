# SPDX-License-Identifier: BSD-3-Clause
"""The files that a public host reads: the workflow, the forms of issues. Each is held against the part of the host's
syntax that it uses, so that a slip of the pen is found here and not by a run that never starts."""
import os
import pathlib
import re

import jsonschema
import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
FORMS = sorted(path for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml")


def closed(properties, required=()):
    """The schema of an object that has these members and no others."""
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


TEXT = {"type": "string", "minLength": 1}
# docs.github.com/actions/reference/workflows-and-actions/workflow-syntax
STEP = {"oneOf": [closed({"name": TEXT, "run": TEXT, "env": {"type": "object"}}, ["run"]),
                  closed({"name": TEXT, "uses": {"type": "string", "pattern": r"^[\w.-]+/[\w./-]+@\S+$"},
                          "with": {"type": "object"}}, ["uses"])]}
JOB = closed({"runs-on": TEXT, "container": closed({"image": TEXT, "options": TEXT}, ["image"]),
              "timeout-minutes": {"type": "integer", "minimum": 1, "maximum": 360},
              "steps": {"type": "array", "items": STEP, "minItems": 1}}, ["runs-on", "steps"])
EVENT = {"anyOf": [{"type": "null"}, closed({"branches": {"type": "array", "items": TEXT}})]}
WORKFLOW = closed({"name": TEXT, "on": closed({"push": EVENT, "pull_request": EVENT}),
                   "permissions": {"type": "object", "additionalProperties": {"enum": ["read", "write", "none"]}},
                   "concurrency": closed({"group": TEXT, "cancel-in-progress": {"type": "boolean"}}, ["group"]),
                   "jobs": {"type": "object", "additionalProperties": JOB, "minProperties": 1}}, ["on", "jobs"])
# docs.github.com/communities/using-templates: syntax for issue forms
ATTRIBUTES = closed({"label": TEXT, "description": TEXT, "placeholder": TEXT, "render": TEXT,
                     "options": {"type": "array", "items": TEXT, "minItems": 1, "uniqueItems": True}}, ["label"])
FIELD = {"oneOf": [closed({"type": {"const": "markdown"}, "attributes": closed({"value": TEXT}, ["value"])},
                          ["type", "attributes"]),
                   closed({"type": {"enum": ["input", "textarea", "dropdown"]}, "id": TEXT, "attributes": ATTRIBUTES,
                           "validations": closed({"required": {"type": "boolean"}})}, ["type", "id", "attributes"])]}
FORM = closed({"name": TEXT, "description": TEXT, "labels": {"type": "array", "items": TEXT},
               "body": {"type": "array", "items": FIELD, "minItems": 1}}, ["name", "description", "body"])


def read(path):
    """YAML 1.1 takes the key `on` for a boolean; the host does not."""
    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {"on" if key is True else key: value for key, value in found.items()}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_has_the_hosts_syntax_and_calls_what_a_change_must_pass(path):
    workflow = read(path)
    jsonschema.validate(workflow, WORKFLOW)
    commands = [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]
    assert ".ci/run" in commands
    for command in commands:
        for program in re.findall(r"(?:^|&& )(\.?[\w.-]+/[\w./-]+)", command):
            assert os.access(ROOT / program, os.X_OK), program


def test_there_is_a_workflow_and_a_wrong_one_is_found():
    assert WORKFLOWS and FORMS
    for wrong in ({"jobs": {}}, {"on": {"push": None}, "jobs": {"all": {"steps": [{"run": "x"}]}}},
                  {"on": {"push": None}, "jobs": {"all": {"runs-on": "x", "steps": [{"run": "x", "uses": "a/b@1"}]}}}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, WORKFLOW)


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_a_form_of_issues_has_the_hosts_syntax(path):
    form = read(path)
    jsonschema.validate(form, FORM)
    names = [field["id"] for field in form["body"] if "id" in field]
    assert len(names) == len(set(names))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(form | {"body": [{"type": "textarea"}]}, FORM)
