"""What the policy tells operators: shadow refusals and traffic that shares a few addresses."""
import json
import re
import urllib.request

import harness

SHADOW = """\
version: 1
gateway: {{ access_log: {{ mode: all, path: "{log}" }} }}
responses: {{ shadow_header: true }}
limits:
  - {{ name: real, key: global, rate: 1000/h }}
  - {{ name: trial, key: address, rate: 10/h, mode: shadow }}
"""


# 30 requests against a shadow limit of 10: all pass, and 20 are reported in metric, log and header.
def test_a_shadow_limit_reports_and_refuses_nothing(serve, client, tmp_path):
    log = tmp_path / "access.log"
    gateway = serve(SHADOW.format(log=log), "--health", "127.0.0.1:0")
    c = client(gateway.port)
    answers = [c.send() for _ in range(30)]
    assert [a.status for a in answers] == [200] * 30
    assert sum("x-ratelimit-shadow" in a.headers for a in answers) == 20
    assert answers[-1].headers["x-ratelimit-remaining"] == "970"
    health = re.search(r"health listening on http://(\S+)", gateway.log).group(1)
    metrics = urllib.request.urlopen(f"http://{health}/metrics", timeout=30).read().decode()
    assert 'penstock_shadow_refusals_total{limit="trial"} 20\n' in metrics
    assert 'penstock_requests_total{outcome="refused"} 0\n' in metrics
    harness.wait_for(lambda: log.exists() and log.read_text().count("\n") == 30, "30 lines are logged")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert sum(line.get("shadow_refused", False) is True for line in lines) == 20


# Behind a proxy that is not trusted every visitor has the proxy's address: said once, with the remedy.
def test_traffic_that_shares_an_address_is_pointed_out(serve, client):
    gateway = serve("version: 1\nlimits:\n  - { name: c, key: address, rate: 1000000/h }\n")
    c = client(gateway.port)
    for _ in range(1200):
        assert c.send(headers={"X-Forwarded-For": "203.0.113.9"}).status == 200
    gateway.wait_for_line(r"warning: .*trusted_proxies", seconds=60)
    assert gateway.log.count("warning: ") == 1
