"""`penstock check` and `penstock explain`: what they say is what serving would do."""
import hashlib
import re

import pytest

import harness
from address_rows import ROWS

POLICY = """\
version: 1
client: {{ trusted_proxies: ["{trusted}"], address_from: {source} }}
limits:
  - {{ name: c, key: address, rate: 10/s }}
"""


@pytest.fixture
def explain(tmp_path):
    """explain(policy, *args) -> {step: [what it says, ...]} of `penstock explain`."""
    def ask(policy, *args):
        path = tmp_path / "policy.yaml"
        path.write_text(policy)
        code, out, err = harness.run("explain", str(path), *args)
        assert code == 0, out + err
        steps = {}
        for line in out.splitlines():
            step, text = re.match(r"(\w+) +(.*)", line).groups()
            steps.setdefault(step, []).append(text)
        return steps
    return ask


def fields(names_and_values):
    return [part for one in names_and_values for part in ("-H", one)]


# Who the client is decides everything else: every row through the policy that serves.
@pytest.mark.parametrize("name, peer, trusted, source, given, client", ROWS, ids=[r[0] for r in ROWS])
def test_names_the_client(explain, name, peer, trusted, source, given, client):
    said = explain(POLICY.format(trusted=trusted, source=source), "--peer", peer, *fields(given))
    assert said["client"][0].startswith(client + ": ")
    counted = re.search(r"key address:(\S+),", said["limit"][0]).group(1)
    if ":" in client:  # whoever owns one address of a /64 owns all of them
        assert counted.endswith("::/64") and client.startswith(counted.split("::")[0])
    else:
        assert counted == client


KEYS = """\
version: 1
client: { trusted_proxies: [127.0.0.1] }
identity: { api_key: { header: X-API-Key }, user: { header: X-User-Id } }
limits:
  - { name: k, key: %s, rate: 10/h, match: { path: "/users/{id}/export" } }
"""


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


KEY_ROWS = [  # expression, fields, the key as stores name it; None: the limit does not count it
    ("global", [], "*"),
    ("address", [], "address:127.0.0.1"),
    ("api_key", ["X-API-Key: secret"], "api_key#" + digest("secret")),
    ("user", ["X-User-Id: 42"], "user:42"),
    ("user", ["X-User-Id: a@b"], "user#" + digest("a@b")),
    ("user", ["X-User-Id: " + "a" * 64], "user:" + "a" * 64),
    ("user", ["X-User-Id: " + "a" * 65], "user#" + digest("a" * 65)),
    ("user", ["X-User-Id: a+b"], "user#" + digest("a+b")),
    ("user", [], None),
    ("user | address", [], "address:127.0.0.1"),
    ("api_key | user | address", ["X-User-Id: 42"], "user:42"),
    ("api_key | user | address", ["X-User-Id: 42", "X-API-Key: secret"], "api_key#" + digest("secret")),
    ("user + route", ["X-User-Id: 42"], "user:42+route#" + digest("/users/{id}/export")),
    ("user + method", ["X-User-Id: 42"], "user:42+method:GET"),
    ("host", ["Host: API.example.com.:8080"], "host:api.example.com"),
    ("header(X-Tenant)", ["x-tenant: acme"], "header(x-tenant)#" + digest("acme")),
    ("header(X-Tenant), show: true", ["x-tenant: acme"], "header(x-tenant):acme"),
    ("query(q)", [], "query(q)#" + digest("a b")),
    ("cookie(c)", ['Cookie: x=1; c="v"'], "cookie(c)#" + digest("v")),
    ("constant(all)", [], "constant:all"),
    # The separator of a composed key cannot be written by a client.
    ("header(A) + header(B), show: true", ["A: a", "B: b"], "header(a):a+header(b):b"),
    ("header(A) + header(B), show: true", ["A: a+header(b):b", "B: b"],
     "header(a)#" + digest("a+header(b):b") + "+header(b):b"),
]


# What is counted is written the same way on every store, and a client can choose neither key nor separator.
@pytest.mark.parametrize("expression, given, key", KEY_ROWS, ids=[f"{r[0]}: {r[1]}"[:60] for r in KEY_ROWS])
def test_names_the_key(explain, expression, given, key):
    said = explain(KEYS % expression, "--path", "/users/7/export?q=a%20b", *fields(given))["limit"][0]
    if key is None:
        assert "the request lacks " + expression in said
    else:
        assert f", key {key}, cost 1: admits, 9 of 10 left" in said


# Why a limit does not count a request is what people ask when a limit "does not work".
def test_says_why_a_limit_does_not_count(explain):
    said = explain("""\
version: 1
limits:
  - { name: path,   match: { path: /a },           key: address, rate: 1/s }
  - { name: method, match: { method: POST },       key: address, rate: 1/s }
  - { name: host,   match: { host: api.test },     key: address, rate: 1/s }
  - { name: gone,   mode: "off",                   key: address, rate: 1/s }
  - { name: shadow, mode: shadow,                  key: address, rate: 1/s }
  - { name: key,    key: header(X-T),              rate: 1/s }
""", "--path", "/b", "-H", "Host: www.test")["limit"]
    assert [line.split(":")[0] for line in said] == ["path", "method", "host", "gone", "shadow", "key"]
    assert "no match: path or host" in said[0] and "no match: method" in said[1]
    assert "no match: path or host" in said[2] and said[3] == "gone: off"
    assert "(shadow: reported only)" in said[4] and "the request lacks header(X-T)" in said[5]


OTHER = """\
version: 1
client: { trusted_proxies: [10.0.0.0/8] }
exempt: [ { path: /health } ]
block: [192.0.2.0/24]
limits:
  - { name: c, key: user, rate: 1/s, on_missing_key: deny }
identity: { user: { header: X-User-Id } }
"""
OTHER_ROWS = [  # arguments, step, what it says
    (["--path", "/health"], "exempt", "yes"),
    (["--peer", "192.0.2.77"], "decision", "deny with 403"),
    (["--peer", "192.0.2.77", "--path", "/health"], "decision", "deny with 403"),
    (["--path", "/a%2fb"], "decision", "deny with 400"),
    (["--path", "/.."], "decision", "deny with 400"),
    (["--path", "/x"], "decision", "deny with 429"),
    (["--peer", "10.0.0.1", "-H", "X-User-Id: 1"], "decision", "allow"),
    (["--peer", "10.0.0.1", "-H", "X-User-Id: 1", "-H", "X-User-Id: 1"], "decision", "deny with 400"),
]


# Block list, exempt, ambiguous requests and missing keys decide before any limit counts.
@pytest.mark.parametrize("args, step, want", OTHER_ROWS, ids=[" ".join(r[0]) for r in OTHER_ROWS])
def test_says_what_decides(explain, args, step, want):
    said = explain(OTHER, *args)
    assert said[step][0].startswith(want)
    assert "limit" not in said or step == "decision" and want == "allow"
    if "path" in said["bad" if "bad" in said else "request"][0]:
        assert "path" not in said  # what was not understood must not be shown as what is matched


# Wrong use is exit code 2 and a sentence, never a decision that could be believed.
@pytest.mark.parametrize("args, want", [
    (["--peer", "nobody"], "not an IP address"),
    (["--peer", "10.0.0.1:80"], "without a port"),
    (["--path", "login"], "must begin with /"),
    (["-H", "no colon"], "write 'Name: value'"),
])
def test_refuses_what_it_does_not_understand(tmp_path, args, want):
    path = tmp_path / "policy.yaml"
    path.write_text(OTHER)
    code, out, err = harness.run("explain", str(path), *args)
    assert code == 2 and want in err and "decision" not in out


CHECK_ROWS = [  # text, exit code, what standard error says
    ("version: 1\nlimits:\n  - { name: a, key: address, rate: 10/s }\n", 0, []),
    ("version: 1\nlimits:\n  - { name: a, key: adress, rate: 10/x }\n", 2,
     ['f.yaml:3:21: limits[0].key: ', 'did you mean "address"', "f.yaml:3:38: limits[0].rate: "]),
    ("version: 1\nlimits:\n  - { name: a, key: user, rate: 10/s }\nidentity: { user: { header: X-U } }\n", 0,
     ["warning: identity.user: is never believed", "warning: limits[0].key: requests without it are not limited"]),
    ("version: 1\nlimits:\n  - { name: a, key: address, rate: 10/s }\n  - { name: b, key: address, rate: 20/s }\n", 0,
     ['warning: limits[1]', 'never bites: "a" is always stricter']),
    ("version: 1\nlimit: []\n", 2, ['did you mean "limits"']),
    ("version: 1\nlimits: [\n", 2, ["f.yaml:"]),
]


# Every problem with its place, then what is most likely not meant; only errors fail.
@pytest.mark.parametrize("text, code, said", CHECK_ROWS)
def test_check_reports_errors_then_lints(tmp_path, text, code, said):
    path = tmp_path / "f.yaml"
    path.write_text(text)
    got, out, err = harness.run("check", str(path))
    assert got == code, out + err
    assert [one for one in said if one not in err] == []
    assert ("not usable" in out) == (code == 2)
    if not said:
        assert "nothing to serve" in err and err.count("warning:") == 1


# CI checks many files in one call: one bad file fails it and does not hide the others.
def test_check_goes_on_after_a_bad_file(tmp_path):
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text(CHECK_ROWS[0][0])
    bad.write_text(CHECK_ROWS[1][0])
    code, out, err = harness.run("check", str(bad), str(tmp_path / "none.yaml"), str(good))
    assert code == 2 and f"{good}: fine" in out and f"{bad}: not usable" in out and "none.yaml" in err
