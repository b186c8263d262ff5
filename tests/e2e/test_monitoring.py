"""Alerts and the Grafana dashboard: rules that fire when they should, and queries that a real
Prometheus runs and that name only metrics and labels which exist."""
import contextlib
import json
import pathlib
import re
import subprocess
import urllib.parse
import urllib.request

import harness
import pytest

ALERTS = harness.ROOT / "deploy/prometheus/alerts.yaml"
DASHBOARD = harness.ROOT / "deploy/grafana/penstock.json"
# Labels that a scrape adds, or that histograms have.
COMMON_LABELS = {"instance", "job", "le"}


def documented():
    """{metric: (type, {labels})} of docs/metrics.md, which a unit test compares with the source."""
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| ([^|]*)\|", (harness.ROOT / "docs/metrics.md").read_text(), re.M)
    return {name: (kind, set(re.findall(r"`(\w+)`", labels))) for name, kind, labels in rows}


def dashboard_queries():
    board = json.loads(DASHBOARD.read_text())
    found = [(p["title"], t["expr"]) for p in board["panels"] for t in p.get("targets", [])]
    return found + [(a["name"], a["expr"]) for a in board["annotations"]["list"]]


def alert_queries():
    import yaml
    rules = [r for g in yaml.safe_load(ALERTS.read_text())["groups"] for r in g["rules"]]
    return [(r.get("alert") or r["record"], r["expr"]) for r in rules]


# A rule that never fires, or always, is worse than none.
def test_alerts_fire_when_they_should():
    promtool = harness.tool("promtool")
    for command in (["check", "rules", "alerts.yaml"], ["test", "rules", "alerts_test.yaml"]):
        done = subprocess.run([promtool, *command], cwd=ALERTS.parent, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr


# Who is woken must find what to do, and every alert says how urgent it is.
def test_every_alert_has_a_severity_and_a_section():
    import yaml
    page = (harness.ROOT / "docs/operations.md").read_text()
    sections = {re.sub(r"[^a-z0-9 -]", "", t.lower()).replace(" ", "-") for t in re.findall(r"^#+ (.*)$", page, re.M)}
    tested = (ALERTS.parent / "alerts_test.yaml").read_text()
    for group in yaml.safe_load(ALERTS.read_text())["groups"]:
        for rule in group["rules"]:
            if "alert" not in rule:
                continue
            assert rule["labels"]["severity"] in ("critical", "warning"), rule["alert"]
            file, section = rule["annotations"]["runbook"].split("#")
            assert file == "docs/operations.md" and section in sections, rule["alert"]
            assert f"alertname: {rule['alert']}\n" in tested, f"{rule['alert']} has no test"


# A renamed metric or label leaves an empty panel and a silent alert.
@pytest.mark.parametrize("where, queries", [("dashboard", dashboard_queries), ("alerts", alert_queries)])
def test_queries_name_what_exists(where, queries):
    metrics = documented()
    assert len(metrics) > 40
    for title, query in queries():
        for name, selector in re.findall(r"\b((?:penstock|rate_limit|redis)_\w+)(\{[^}]*\})?", query):
            base = re.sub(r"_(bucket|count|sum)$", "", name)
            known = name if name in metrics else base
            assert known in metrics, f"{where}: {title}: there is no metric {name}"
            assert known == name or metrics[known][0] == "histogram", f"{title}: {name}"
            labels = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", selector))
            assert labels <= metrics[known][1] | COMMON_LABELS, f"{where}: {title}: labels of {query}"


POLICY = """\
version: 1
store: {{ url: "redis://127.0.0.1:{redis}" }}
health: {{ listen: "127.0.0.1:0" }}
limits:
  - {{ name: few, match: {{ path: /few }}, key: global, rate: 1/h }}
  - {{ name: queue, match: {{ path: /queue }}, key: global, algorithm: leaky_bucket, rate: 100/s, queue: 50 }}
  - {{ name: trial, match: {{ path: /queue }}, key: global, rate: 1/h, mode: shadow }}
"""


# An empty panel is found out when it is needed: each query of the dashboard, with Grafana's variables
# filled in, finds series in a Prometheus that scrapes a gateway with traffic; each rule runs.
def test_every_panel_finds_something(started, serve, client, tmp_path):
    prometheus = harness.tool("prometheus")
    port, redis = harness.free_port(), harness.free_port()
    started(harness.Process([harness.tool("redis-server"), "--port", str(redis), "--save", "", "--bind", "127.0.0.1"],
                            "redis"))
    harness.wait_for(lambda: harness.accepts(redis), "Redis listens")
    gateway = serve(POLICY.format(redis=redis))
    health = gateway.wait_for_line(r"health listening on http://(\S+)").group(1)
    (tmp_path / "prometheus.yml").write_text(
        "global: { scrape_interval: 1s, evaluation_interval: 1s }\n"
        f"rule_files: [{ALERTS}]\n"
        f"scrape_configs: [{{ job_name: penstock, static_configs: [{{ targets: ['{health}'] }}] }}]\n")
    started(harness.Process([prometheus, f"--config.file={tmp_path}/prometheus.yml", f"--storage.tsdb.path={tmp_path}/data",
                             f"--web.listen-address=127.0.0.1:{port}"], "prometheus"))
    values = {"$__rate_interval": "1m", "$__range": "6h", "$instance": ".*", "$limit": ".*"}

    def found(title, query):
        for variable, value in values.items():
            query = query.replace(variable, value)
        url = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": query})
        with urllib.request.urlopen(url, timeout=30) as answer:
            result = json.load(answer)
        assert result["status"] == "success", title
        return result["data"]["result"]

    def ready():
        with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/-/ready", timeout=30) as answer:
            return answer.status == 200
        return False

    harness.wait_for(ready, "Prometheus is ready", 60)
    harness.wait_for(lambda: found("up", "penstock_ready == 1"), "the gateway was scraped", 60)
    c = client(gateway.port)
    limits = pathlib.Path(gateway.policy_path)
    limits.write_text(limits.read_text().replace("100/s", "200/s"))

    def nothing_found():
        for path in ("/few", "/queue", "/queue", "/other"):
            c.send(path=path)
        empty[:] = [title for title, query in dashboard_queries() if not found(title, query)]
        return bool(empty)

    empty = []
    with contextlib.suppress(AssertionError):
        harness.wait_for(lambda: not nothing_found(), "every panel finds something", 60)
    assert empty == []
    for title, query in alert_queries():
        found(title, query)
