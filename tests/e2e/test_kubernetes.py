"""The manifests under deploy/kubernetes: right for the API's schemas, careful about privileges, and true.
The replicas, the sidecar and Redis are started here with the arguments and the environment that the
manifests state; only addresses are replaced."""
import os
import re
import socket
import subprocess
import threading
import urllib.error
import urllib.request

import harness
import pytest
import yaml

FOLDER = harness.ROOT / "deploy/kubernetes"
FILES = sorted(FOLDER.glob("*.yaml"))
VERSIONS = ["1.29.0", "1.37.0"]  # the oldest that is meant, and the newest that the schemas know


def objects(file):
    return {(o["kind"], o["metadata"]["name"]): o for o in yaml.safe_load_all((FOLDER / file).read_text())}


def pod(file, name):
    return objects(file)["Deployment", name]["spec"]["template"]["spec"]


def container(file, name, which):
    return next(c for c in pod(file, name)["containers"] if c["name"] == which)


DEPLOYMENTS = [(f.name, o) for f in FILES for (kind, _), o in objects(f.name).items() if kind == "Deployment"]
CONTAINERS = [(o["spec"]["template"]["spec"], c) for _, o in DEPLOYMENTS
              for c in o["spec"]["template"]["spec"]["containers"]]


# --- the manifests as texts

# A misspelled field is dropped by the API server without a word, and with it what it was to protect.
@pytest.mark.parametrize("version", VERSIONS)
def test_every_object_fits_the_schema(version):
    done = subprocess.run([harness.pinned_tool("kubernetes-validate"), "--strict", "-k", version, *map(str, FILES)],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    passed = re.findall(r"passed for resource", done.stdout + done.stderr)
    assert len(passed) == sum(len(objects(f.name)) for f in FILES)


# Also the checker is tested: one that passes everything would look the same.
def test_a_misspelled_field_is_found(tmp_path):
    broken = tmp_path / "broken.yaml"
    broken.write_text((FOLDER / "gateway.yaml").read_text().replace("readOnlyRootFilesystem", "readOnlyRoot"))
    done = subprocess.run([harness.pinned_tool("kubernetes-validate"), "--strict", "-k", VERSIONS[0], str(broken)],
                          capture_output=True, text=True)
    assert done.returncode != 0 and "readOnlyRoot" in done.stdout + done.stderr


# The profile `restricted` of the pod security standards, and bounds for what a container takes.
@pytest.mark.parametrize("spec, one", CONTAINERS, ids=lambda x: x.get("name") if isinstance(x, dict) else None)
def test_containers_have_no_privilege_and_bounded_memory(spec, one):
    assert spec["automountServiceAccountToken"] is False
    assert spec["securityContext"]["runAsNonRoot"] and spec["securityContext"]["runAsUser"] > 0
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert one["securityContext"] == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                                      "capabilities": {"drop": ["ALL"]}}
    assert {"cpu", "memory"} <= one["resources"]["requests"].keys() and "memory" in one["resources"]["limits"]
    assert not any(m for v in spec.get("volumes", []) for m in v if m == "hostPath")


# A name that nothing carries selects nothing, and nobody says so.
@pytest.mark.parametrize("file", [f.name for f in FILES])
def test_names_lead_to_objects(file):
    there = {k: o for f in FILES for k, o in objects(f.name).items()}
    labels = [o["spec"]["template"]["metadata"]["labels"] for _, o in DEPLOYMENTS]
    for (kind, name), o in objects(file).items():
        selector = {"Deployment": lambda: o["spec"]["selector"]["matchLabels"],
                    "Service": lambda: o["spec"]["selector"],
                    "PodDisruptionBudget": lambda: o["spec"]["selector"]["matchLabels"],
                    "NetworkPolicy": lambda: o["spec"]["podSelector"]["matchLabels"]}.get(kind, dict)()
        matched = [x for x in labels if selector.items() <= x.items()]
        assert kind == "ConfigMap" or len(matched) == 1, f"{kind} {name}"
        if kind == "Deployment":
            spec = o["spec"]["template"]["spec"]
            ports = {p["name"] for c in spec["containers"] for p in c.get("ports", [])}
            for c in spec["containers"]:
                for source in c.get("envFrom", []):
                    assert ("ConfigMap", source["configMapRef"]["name"]) in there
            for volume in spec.get("volumes", []):
                assert "configMap" not in volume or ("ConfigMap", volume["configMap"]["name"]) in there
            services = [s for (k, _), s in there.items() if k == "Service"
                        and s["spec"]["selector"].items() <= o["spec"]["template"]["metadata"]["labels"].items()]
            assert len(services) == 1 and {p["targetPort"] for p in services[0]["spec"]["ports"]} <= ports
    # Redis is found under its service's name, by pods that its network policy lets in.
    assert ("Service", "penstock-redis") in there
    caller = next(o for (k, _), o in there.items() if k == "NetworkPolicy")["spec"]["ingress"][0]["from"][0]
    for penstock in ("penstock", "api"):
        have = next(o for _, o in DEPLOYMENTS if o["metadata"]["name"] == penstock)["spec"]["template"]["metadata"]
        assert caller["podSelector"]["matchLabels"].items() <= have["labels"].items()


# --- what they state, run

def start_redis(started):
    """redis-server as the manifest runs it, on a free port."""
    c = container("redis.yaml", "penstock-redis", "redis")
    port = harness.free_port()
    args = [str(port) if a == "6379" else a for a in c["args"]]
    assert args != c["args"] and c["command"] == ["redis-server"]
    server = started(harness.Process([harness.tool("redis-server"), *args, "--bind", "127.0.0.1"], "redis"))
    server.wait_for_line("Ready to accept connections")
    server.port = port
    return server


def environment_of(file, name, redis_port):
    """The ConfigMap as a container sees it, with our Redis."""
    data = dict(objects(file)["ConfigMap", name]["data"])
    assert "//penstock-redis:6379/" in data["PENSTOCK_STORE"]
    data["PENSTOCK_STORE"] = data["PENSTOCK_STORE"].replace("penstock-redis:6379", f"127.0.0.1:{redis_port}")
    return data


class Replica(harness.Process):
    """One container of the gateway's Deployment."""

    def __init__(self, environment, api_port, tmp_path):
        c = container("gateway.yaml", "penstock", "penstock")
        assert c["envFrom"] == [{"configMapRef": {"name": "penstock"}}] and "env" not in c
        replaced = {":8080": "127.0.0.1:0", ":7071": "127.0.0.1:0", "http://api:80": f"http://127.0.0.1:{api_port}"}
        args = [replaced.get(a, a) for a in c["args"]]
        assert sum(a != b for a, b in zip(args, c["args"])) == len(replaced)
        # A test machine may be slow: a late answer of Redis must not count as an outage, which admits.
        patient = tmp_path / "patient.yaml"
        patient.write_text("version: 1\nstore: { deadline: 10s, on_store_failure: deny }\nlimits: []\n")
        clean = {k: v for k, v in os.environ.items() if not k.startswith("PENSTOCK_")}
        super().__init__([harness.BINARY, *args, "-c", str(patient)], "replica", env={**clean, **environment})
        self.ports = {}
        for face, name in (("gateway", "http"), ("health", "health")):
            self.ports[name] = int(self.wait_for_line(rf"{face} listening on http://127\.0\.0\.1:(\d+)").group(1))

    def get(self, port, path):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.ports[port]}{path}", timeout=30) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read().decode()


@pytest.fixture
def fleet(started, upstream, tmp_path):
    """As many replicas as the manifest asks for, and one Redis."""
    redis = start_redis(started)
    environment = environment_of("config.yaml", "penstock", redis.port)
    count = objects("gateway.yaml")["Deployment", "penstock"]["spec"]["replicas"]
    assert count == 5
    return [started(Replica(environment, upstream.port, tmp_path)) for _ in range(count)]


# The promise of a fleet: five processes that know each other through Redis alone admit N, not 5 N and
# not N + 1, while all of them are asked at the same time.
def test_five_replicas_admit_exactly_the_limit(fleet, upstream, client):
    limit = objects("config.yaml")["ConfigMap", "penstock"]["data"]["PENSTOCK_LIMIT"]
    n, algorithm = re.fullmatch(r"address (\d+)/h (\w+)", limit).groups()
    n = int(n)
    assert algorithm == "sliding_window_log"  # exact within any hour, so also within this test
    per_client = -(-n * 3 // 2 // (2 * len(fleet)))
    passed, other = [0] * (2 * len(fleet)), []

    def ask(i):
        mine = client(fleet[i % len(fleet)].ports["http"])
        for _ in range(per_client):
            status = mine.send().status
            if status == 200:
                passed[i] += 1
            elif status != 429:
                other.append(status)

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(len(passed))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert other == []
    assert sum(passed) == n == len(upstream.seen)
    for i in range(len(fleet)):
        assert passed[i] + passed[i + len(fleet)] > 0, f"all replicas took part: {passed}"
        text = fleet[i].get("health", "/metrics")[1]
        assert re.search(r'^penstock_requests_total\{outcome="degraded_allowed"\} 0$', text, re.M)


# What a kubelet does with the manifest: ready at once, alive throughout, and a replica that is told to
# end says that it wants no more while it finishes what it has.
def test_probes_answer_as_the_manifest_asks(fleet):
    c = container("gateway.yaml", "penstock", "penstock")
    numbers = {p["name"]: p["containerPort"] for p in c["ports"]}
    assert c["args"][c["args"].index("--listen") + 1] == f":{numbers['http']}"
    assert c["args"][c["args"].index("--health") + 1] == f":{numbers['health']}"
    ready, alive = c["readinessProbe"]["httpGet"], c["livenessProbe"]["httpGet"]
    for replica in fleet:
        assert replica.get(ready["port"], ready["path"]) == (200, "ready\n")
        assert replica.get(alive["port"], alive["path"])[0] == 200

    one = fleet[0]
    with socket.create_connection(("127.0.0.1", one.ports["http"]), timeout=30) as s:
        s.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n1")
        harness.wait_for(lambda: re.search(r'^penstock_requests_total\{outcome="allowed"\} 1$',
                                           one.get("health", "/metrics")[1], re.M), "the request is under way")
        one.child.terminate()
        harness.wait_for(lambda: one.get(ready["port"], ready["path"])[0] == 503, "a replica that ends is not ready")
        assert one.get(alive["port"], alive["path"])[0] == 200
        s.sendall(b"2")
        assert s.recv(65536).startswith(b"HTTP/1.1 200 ")
    assert one.child.wait(30) == 0
    grace = pod("gateway.yaml", "penstock")["terminationGracePeriodSeconds"]
    assert grace >= int(c["lifecycle"]["preStop"]["exec"]["command"][1]) + 30 + 5


# Redis away is no reason to restart a replica or to take it out: it decides by on_store_failure.
def test_probes_stay_green_while_redis_is_away(started, upstream, tmp_path):
    redis = start_redis(started)
    one = started(Replica(environment_of("config.yaml", "penstock", redis.port), upstream.port, tmp_path))
    assert one.get("http", "/")[0] == 200
    redis.child.kill()
    redis.child.wait()
    harness.wait_for(lambda: one.get("http", "/")[0] == 503, "the outage is noticed")
    harness.wait_for(lambda: one.get("health", "/readyz")[1].startswith("degraded"), "readyz tells of it")
    assert one.get("health", "/readyz")[0] == 200 and one.get("health", "/livez")[0] == 200


# The sidecar's policy is the text in its ConfigMap: it loads without a warning, serves where the probes
# ask, and believes no address but the ingress controller's.
def test_the_sidecar_serves_its_policy(started, upstream, client, tmp_path):
    c = container("sidecar.yaml", "api", "penstock")
    policy = objects("sidecar.yaml")["ConfigMap", "api-limits"]["data"]["policy.yaml"]
    mount = next(m for m in c["volumeMounts"] if m["name"] == "policy")
    assert "subPath" not in mount  # such a file never changes
    (tmp_path / "as-written.yaml").write_text(policy)
    code, out, err = harness.run("check", str(tmp_path / "as-written.yaml"))
    assert code == 0 and "0 warnings" in out + err, out + err
    for port in c["ports"]:
        assert f'"{":" + str(port["containerPort"])}"' in policy

    redis = start_redis(started)
    replaced = {'":8080"': '"127.0.0.1:0"', '":7071"': '"127.0.0.1:0"',
                "penstock-redis:6379": f"127.0.0.1:{redis.port}", "127.0.0.1:3000": f"127.0.0.1:{upstream.port}",
                "on_store_failure: local": "on_store_failure: local, deadline: 10s"}
    for old, new in replaced.items():
        assert old in policy
        policy = policy.replace(old, new)
    (tmp_path / "policy.yaml").write_text(policy)
    args = [a.replace(mount["mountPath"], str(tmp_path)) for a in c["args"]]
    sidecar = started(harness.Process([harness.BINARY, *args], "sidecar"))
    port = int(sidecar.wait_for_line(r"gateway listening on http://127\.0\.0\.1:(\d+)").group(1))
    sidecar.wait_for_line(r"health listening on ")
    mine = client(port)
    statuses = [mine.send("POST", "/login", headers={"X-Forwarded-For": f"203.0.113.{i}"}).status for i in range(7)]
    assert statuses == [200] * 5 + [429] * 2
