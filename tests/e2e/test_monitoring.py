"""Alerts and the Grafana dashboard: rules that fire when they should, and queries that a real
Prometheus runs and that name only metrics and labels which exist."""
import json
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
            assert rule["labels"]["severity"] in ("page", "ticket"), rule["alert"]
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


# Grafana's variables filled in, each query is one that Prometheus accepts and runs.
def test_prometheus_runs_every_query(started, tmp_path):
    prometheus = harness.tool("prometheus")
    (tmp_path / "prometheus.yml").write_text(f"rule_files: [{ALERTS}]\n")
    port = harness.free_port()
    started(harness.Process([prometheus, f"--config.file={tmp_path}/prometheus.yml", f"--storage.tsdb.path={tmp_path}/data",
                             f"--web.listen-address=127.0.0.1:{port}"], "prometheus"))
    harness.wait_for(lambda: harness.accepts(port), "Prometheus listens", 60)
    values = {"$__rate_interval": "1m", "$__range": "6h", "$instance": ".*", "$limit": ".*"}
    for title, query in dashboard_queries() + alert_queries():
        for variable, value in values.items():
            query = query.replace(variable, value)
        url = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": query})
        with urllib.request.urlopen(url, timeout=30) as answer:
            assert json.load(answer)["status"] == "success", title
