# SPDX-License-Identifier: BSD-3-Clause
"""The fields of a batch/v1 Job that a manifest of this repository may use (Kubernetes API reference, v1.30).

A type is written as a Python type, as a set of the allowed words, as [type] for a list, or as {"field": type} for an
object. A dict with the single key `str` is a map of names. A field that is not listed, or has another type, is a
mistake.
"""
LABELS = {str: str}
META = {"name": str, "namespace": str, "labels": LABELS, "annotations": LABELS, "generateName": str}
SELECTOR = {"matchLabels": LABELS, "matchExpressions": [{"key": str, "operator": {"In", "NotIn", "Exists",
                                                                                  "DoesNotExist"}, "values": [str]}]}
SECCOMP = {"type": {"RuntimeDefault", "Unconfined", "Localhost"}, "localhostProfile": str}
POD_SECURITY = {"runAsNonRoot": bool, "runAsUser": int, "runAsGroup": int, "fsGroup": int,
                "fsGroupChangePolicy": {"Always", "OnRootMismatch"}, "supplementalGroups": [int],
                "seccompProfile": SECCOMP, "sysctls": [{"name": str, "value": str}]}
CONTAINER_SECURITY = {"allowPrivilegeEscalation": bool, "readOnlyRootFilesystem": bool, "privileged": bool,
                      "runAsNonRoot": bool, "runAsUser": int, "runAsGroup": int, "seccompProfile": SECCOMP,
                      "capabilities": {"add": [str], "drop": [str]}}
FIELD_REFERENCE = {"fieldRef": {"apiVersion": str, "fieldPath": str}}
CONTAINER = {
    "name": str, "image": str, "imagePullPolicy": {"Always", "Never", "IfNotPresent"}, "command": [str], "args": [str],
    "workingDir": str, "env": [{"name": str, "value": str, "valueFrom": FIELD_REFERENCE}],
    "resources": {"requests": LABELS, "limits": LABELS}, "securityContext": CONTAINER_SECURITY,
    "volumeMounts": [{"name": str, "mountPath": str, "readOnly": bool, "subPath": str}],
    "terminationMessagePath": str, "terminationMessagePolicy": {"File", "FallbackToLogsOnError"},
}
POD = {
    "restartPolicy": {"Never", "OnFailure"},  # the policies that a Job allows
    "automountServiceAccountToken": bool, "enableServiceLinks": bool, "serviceAccountName": str, "hostNetwork": bool,
    "terminationGracePeriodSeconds": int, "activeDeadlineSeconds": int, "nodeSelector": LABELS,
    "securityContext": POD_SECURITY, "containers": [CONTAINER], "initContainers": [CONTAINER],
    "imagePullSecrets": [{"name": str}],
    "tolerations": [{"key": str, "operator": {"Exists", "Equal"}, "value": str, "tolerationSeconds": int,
                     "effect": {"NoSchedule", "PreferNoSchedule", "NoExecute"}}],
    "topologySpreadConstraints": [{"maxSkew": int, "topologyKey": str, "labelSelector": SELECTOR,
                                   "whenUnsatisfiable": {"DoNotSchedule", "ScheduleAnyway"}}],
    "volumes": [{"name": str, "emptyDir": {"medium": {"", "Memory"}, "sizeLimit": str}}],
}
JOB = {
    "apiVersion": {"batch/v1"}, "kind": {"Job"}, "metadata": META,
    "spec": {"completionMode": {"Indexed", "NonIndexed"}, "completions": int, "parallelism": int, "backoffLimit": int,
             "backoffLimitPerIndex": int, "maxFailedIndexes": int, "activeDeadlineSeconds": int,
             "ttlSecondsAfterFinished": int, "suspend": bool, "template": {"metadata": META, "spec": POD}},
}


def mistakes(value, kind, path=""):
    """Returns a sentence for each mistake in `value`."""
    if isinstance(kind, set):
        return [] if isinstance(value, str) and value in kind else [f"{path}: {value!r} is none of {sorted(kind)}"]
    if isinstance(kind, list):
        if not isinstance(value, list):
            return [f"{path}: must be a list"]
        return [text for index, item in enumerate(value) for text in mistakes(item, kind[0], f"{path}[{index}]")]
    if isinstance(kind, dict):
        if not isinstance(value, dict):
            return [f"{path}: must be an object"]
        if str in kind:
            return [text for key, item in value.items() for text in mistakes(item, kind[str], f"{path}.{key}")]
        unknown = [f"{path}.{key}: no such field" for key in value if key not in kind]
        return unknown + [text for key, item in value.items() if key in kind
                          for text in mistakes(item, kind[key], f"{path}.{key}")]
    # In Python, a boolean is also an integer. In Kubernetes it is not.
    return [] if type(value) is kind else [f"{path}: {value!r} is not of type {kind.__name__}"]
