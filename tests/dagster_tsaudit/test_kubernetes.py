"""The jobs that deploy/kubernetes creates, as its launcher sends them, checked against the schemas of Kubernetes.

There is no cluster: a server on loopback takes what the launcher creates. kubernetes-validate brings the schemas.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Final

import dagster as dg
import kubernetes_validate
import pytest
import yaml
from dagster._core.code_pointer import FileCodePointer
from dagster._core.origin import JobPythonOrigin, RepositoryPythonOrigin
from dagster._core.test_utils import create_run_for_test

from dagster_tsaudit.automation import definitions_of
from tests.dagster_tsaudit.runs import a_plan, write_config
from tests.serving import Handler, serving_http

pytestmark = pytest.mark.full

DEPLOY: Final = Path(__file__).parents[2] / "deploy" / "kubernetes"
VERSIONS: Final = ("1.28", kubernetes_validate.latest_version())
"""The oldest that is still offered with support somewhere, and the newest."""
IMAGE: Final = "registry.example.com/audits:1"
MEMORY: Final = {"container_config": {"resources": {"limits": {"memory": "16Gi"}}}}
ZONE: Final = {"pod_spec_config": {"node_selector": {"zone": "plant"}}}


def check(found: dict[str, Any]) -> None:
    """Also against fields that Kubernetes does not know, which it would ignore."""
    for version in VERSIONS:
        kubernetes_validate.validate(found, version, strict=True)


class Cluster(Handler):
    """Takes jobs, and keeps them."""

    created: ClassVar[list[tuple[str, dict[str, Any]]]]

    def do_POST(self) -> None:
        body = self.content()
        self.created.append((self.path, json.loads(body)))
        self.answer(201, body, Content_Type="application/json")


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[type[Cluster]]:
    """A server, and the kubeconfig for it in `kubeconfig`."""
    created = type("Created", (Cluster,), {"created": []})
    with serving_http(created) as server:
        (tmp_path / "kubeconfig").write_text(
            yaml.safe_dump(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "current-context": "test",
                    "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
                    "clusters": [{"name": "test", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}],
                    "users": [{"name": "test", "user": {}}],
                }
            )
        )
        yield created


@pytest.fixture
def instance(tmp_path: Path, cluster: type[Cluster]) -> Iterator[dg.DagsterInstance]:
    """With the shipped settings, but for the storage and the way to the cluster."""
    settings = yaml.safe_load((DEPLOY / "dagster.yaml").read_text())
    del settings["storage"]
    own = {"load_incluster_config": False, "kubeconfig_file": str(tmp_path / "kubeconfig")}
    settings["run_launcher"]["config"] |= own
    home = tmp_path / "home"
    home.mkdir()
    (home / "dagster.yaml").write_text(yaml.safe_dump(settings))
    with dg.DagsterInstance.from_config(str(home)) as found:
        yield found


def launched(folder: Path, instance: dg.DagsterInstance, cluster: type[Cluster], **tags: str) -> dict[str, Any]:
    """The job of the run that the schedule launches for a target with these `run_tags`."""
    config = write_config(folder, "press-7", target_extra=f"run_tags: {json.dumps(tags)}")
    definitions = definitions_of(a_plan(config))
    repository = definitions.get_repository_def()
    moment = datetime(2026, 3, 31, 6, tzinfo=UTC)
    (schedule,) = repository.schedule_defs
    with dg.build_schedule_context(
        instance=instance, scheduled_execution_time=moment, repository_def=repository
    ) as context:
        (request,) = schedule.evaluate_tick(context).run_requests or ()
    # What a code server with DAGSTER_CURRENT_IMAGE says about itself.
    code = RepositoryPythonOrigin("/usr/local/bin/python", FileCodePointer("location.py", "defs", None), IMAGE)
    run = create_run_for_test(
        instance,
        job_name="audit_shop",
        run_config=request.run_config,
        tags=request.tags,
        job_code_origin=JobPythonOrigin("audit_shop", code),
    )
    from dagster._core.launcher import LaunchRunContext

    instance.run_launcher.launch_run(LaunchRunContext(run, workspace=None))
    ((path, job),) = cluster.created
    assert path.startswith("/apis/batch/v1/namespaces/audits/jobs")
    assert job["metadata"]["name"] == f"dagster-run-{run.run_id}"
    return job


def container_of(job: dict[str, Any]) -> dict[str, Any]:
    (container,) = job["spec"]["template"]["spec"]["containers"]
    return dict(container)


def test_a_run_is_a_job_that_kubernetes_takes(
    tmp_path: Path, instance: dg.DagsterInstance, cluster: type[Cluster]
) -> None:
    job = launched(tmp_path, instance, cluster)
    check(job)
    container, pod = container_of(job), job["spec"]["template"]["spec"]
    assert container["image"] == IMAGE
    assert container["args"][:4] == ["/usr/local/bin/python", "-m", "dagster", "api"]
    assert container["envFrom"] == [{"secretRef": {"name": "audits"}}]
    assert container["resources"]["limits"] == {"memory": "2Gi"}
    assert (pod["serviceAccountName"], pod["restartPolicy"]) == ("dagster", "Never")
    assert (job["spec"]["backoffLimit"], job["spec"]["ttlSecondsAfterFinished"]) == (0, 86400)
    assert pod["securityContext"]["runAsNonRoot"]
    assert {volume["name"] for volume in pod["volumes"]} == {mount["name"] for mount in container["volumeMounts"]}


def test_tags_of_a_target_change_its_job(tmp_path: Path, instance: dg.DagsterInstance, cluster: type[Cluster]) -> None:
    job = launched(tmp_path, instance, cluster, **{"dagster-k8s/config": json.dumps(MEMORY | ZONE)})
    check(job)
    assert container_of(job)["resources"]["limits"]["memory"] == "16Gi"
    assert container_of(job)["envFrom"] == [{"secretRef": {"name": "audits"}}]
    assert job["spec"]["template"]["spec"]["nodeSelector"] == {"zone": "plant"}


def test_a_mistake_in_a_tag_is_noticed(tmp_path: Path, instance: dg.DagsterInstance, cluster: type[Cluster]) -> None:
    """Of the test: it would not notice anything if this passed."""
    job = launched(tmp_path, instance, cluster)
    container_of(job)["resources"]["limits"]["memory"] = {"much": True}
    with pytest.raises(kubernetes_validate.ValidationError):
        check(job)
    job["spec"]["template"]["spec"]["nodeSelektor"] = {}
    with pytest.raises(kubernetes_validate.ValidationError):
        check(job)


def manifests() -> list[dict[str, Any]]:
    files = sorted(path for path in DEPLOY.glob("*.yaml") if path.name not in ("dagster.yaml", "workspace.yaml"))
    documents = [found for path in files for found in yaml.safe_load_all(path.read_text())]
    return [found for found in documents if found["kind"] != "Kustomization"]


@pytest.mark.parametrize("manifest", manifests(), ids=lambda found: f"{found['kind']}-{found['metadata']['name']}")
def test_manifests_are_what_kubernetes_takes(manifest: dict[str, Any]) -> None:
    check(manifest)


def test_manifests_and_settings_name_the_same_things() -> None:
    """A wrong name would only show in a cluster."""
    launcher = yaml.safe_load((DEPLOY / "dagster.yaml").read_text())["run_launcher"]["config"]
    whole = yaml.safe_load((DEPLOY / "kustomization.yaml").read_text())
    found = {kind: [m for m in manifests() if m["kind"] == kind] for kind in ("Deployment", "Service", "Secret")}
    names = {(m["kind"], m["metadata"]["name"]) for m in manifests()}
    assert ("ServiceAccount", launcher["service_account_name"]) in names
    assert whole["namespace"] == launcher["job_namespace"]
    (config_map,) = whole["configMapGenerator"]
    assert config_map["name"] == launcher["instance_config_map"]
    assert all((DEPLOY / file).is_file() for file in (*config_map["files"], *whole["resources"]))
    assert launcher["env_secrets"] == [m["metadata"]["name"] for m in found["Secret"]]
    for deployment in found["Deployment"]:
        pod = deployment["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        assert pod["serviceAccountName"] == launcher["service_account_name"]
        assert container["envFrom"] == [{"secretRef": {"name": name}} for name in launcher["env_secrets"]]
        assert {"name": "DAGSTER_HOME", "value": launcher["dagster_home"]} in container["env"]
        assert {volume["name"] for volume in pod["volumes"]} == {mount["name"] for mount in container["volumeMounts"]}
        (volume,) = [volume for volume in pod["volumes"] if "configMap" in volume]
        assert volume["configMap"] == {"name": launcher["instance_config_map"]}
        assert container["image"] in [image["name"] for image in whole["images"]]
    (server,) = yaml.safe_load((DEPLOY / "workspace.yaml").read_text())["load_from"]
    (service,) = [m for m in found["Service"] if m["metadata"]["name"] == server["grpc_server"]["host"]]
    assert service["spec"]["ports"][0]["port"] == server["grpc_server"]["port"]
    variables = {
        value["env"] for value in _values(yaml.safe_load((DEPLOY / "dagster.yaml").read_text())) if "env" in value
    }
    assert variables <= set(found["Secret"][0]["stringData"])


def _values(found: object) -> Iterator[dict[str, Any]]:
    """All mappings in it."""
    if isinstance(found, dict):
        yield found
    for value in found.values() if isinstance(found, dict) else found if isinstance(found, list) else ():
        yield from _values(value)


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kustomize_builds_it() -> None:
    done = subprocess.run(["kubectl", "kustomize", str(DEPLOY)], capture_output=True, text=True, check=True)
    built = list(yaml.safe_load_all(done.stdout))
    for manifest in built:
        check(manifest)
    assert {m["metadata"]["namespace"] for m in built} == {"audits"}
    (config_map,) = [m for m in built if m["kind"] == "ConfigMap"]
    assert config_map["data"]["dagster.yaml"] == (DEPLOY / "dagster.yaml").read_text()
    (code,) = [m for m in built if m["metadata"]["name"] == "audits-code" and m["kind"] == "Deployment"]
    (container,) = code["spec"]["template"]["spec"]["containers"]
    assert {"name": "DAGSTER_CURRENT_IMAGE", "value": container["image"]} in container["env"]
