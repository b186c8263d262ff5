"""The pages about moving over: the policy that a page shows admits what the replaced library admitted,
asked as the page says. That it loads and has no other warnings is test_docs.py's part."""
import json
import re
import subprocess

import client_cases
import harness
import pytest
import test_docs

GUIDES = harness.ROOT / "docs/guides"


def policy(page):
    """The page's one policy, with counters in memory and a free port."""
    (text,) = (text for _, text in test_docs.blocks(GUIDES / page, "yaml"))
    text = re.sub(r"^store: .*\n", "", text, flags=re.M)
    return text.replace("127.0.0.1:8081", "127.0.0.1:0")


@pytest.fixture(scope="module")
def service(request):
    """ask(page)(check) of a daemon with that page's policy."""
    daemons = {}

    def of(page):
        if page not in daemons:
            daemon = harness.Penstock(policy(page))
            request.addfinalizer(daemon.close)
            port = int(daemon.wait_for_line(r"decisions? listening on http://[^ ]*:(\d+)").group(1))
            client = daemons[page] = harness.Client(port)
            request.addfinalizer(client.close)
        return lambda check: json.loads(daemons[page].send("POST", "/v1/check", body=json.dumps(check)).body)

    return of


# page, what the replaced code says, the check, how many units pass at once
ROWS = [
    ("from-express-rate-limit.md", "limit: 100 in 15 minutes", {"path": "/"}, 100),
    ("from-express-rate-limit.md", "limit: 5 on /login, whatever its case", {"path": "/LOGIN", "method": "POST"}, 5),
    ("from-slowapi.md", "5/minute on one item", {"path": "/items/7"}, 5),
    ("from-slowapi.md", "1000/hour elsewhere", {"path": "/"}, 1000),
    ("from-slowapi.md", "10/day by user", {"path": "/reports", "method": "POST", "user": "u"}, 10),
    ("from-django-rest-throttles.md", "anon 100/day", {"path": "/", "headers": {"X-Anonymous": "yes"}}, 100),
    ("from-django-rest-throttles.md", "user 1000/day", {"path": "/", "user": "u"}, 1000),
    ("from-django-rest-throttles.md", "uploads 20/day", {"path": "/uploads/", "user": "v"}, 20),
    ("from-laravel-throttle.md", "60 a minute by user", {"path": "/api/a", "user": "u"}, 60),
    ("from-laravel-throttle.md", "60 a minute by address", {"path": "/api/a"}, 60),
    ("from-laravel-throttle.md", "throttle:5,1,login", {"path": "/login", "method": "POST"}, 5),
    ("from-go-redis.md", "PerMinute(10)", {"path": "/projects/1/x", "headers": {"X-Project": "1"}}, 10),
    ("from-go-redis.md", "Burst: 200, by name", {"limit": "export", "key": "header(X-Project):2"}, 200),
]


# A page that promises "becomes this policy" is held to it, to the unit.
@pytest.mark.parametrize("page, was, check, units", ROWS, ids=[f"{r[0]}: {r[1]}" for r in ROWS])
def test_the_policy_admits_what_the_library_did(service, page, was, check, units):
    ask = service(page)

    def admitted(number):
        where = {} if "limit" in check else {"address": f"198.51.{number}.{len(was)}"}
        if "user" in check:
            where["user"] = check["user"] + str(number)
        whole, one_more = (ask({**check, **where, "cost": cost})["allowed"] for cost in (units, 1))
        return whole and not one_more

    # Once more when the edge of a window fell between the two questions.
    assert admitted(1) or admitted(2)


# URLs of one function share a count, as the page says, and users do not share one with their address.
def test_slowapi_endpoints_share_and_users_do_not(service):
    ask = service("from-slowapi.md")
    client = {"address": "198.51.100.200"}
    assert [ask({"path": f"/items/{n}", **client})["allowed"] for n in range(6)].count(False) >= 1
    assert ask({"path": "/reports", "method": "POST", "user": "w", **client})["allowed"]


# Who is logged in is not counted as nobody.
def test_django_users_are_not_anonymous(service):
    ask = service("from-django-rest-throttles.md")
    client = {"path": "/", "address": "198.51.100.201"}
    assert ask({**client, "headers": {"X-Anonymous": "yes"}, "cost": 100})["allowed"]
    assert not ask({**client, "headers": {"X-Anonymous": "yes"}})["allowed"]
    assert ask({**client, "user": "x", "cost": 1000})["allowed"]


# The README of the clients is where a newcomer begins: its policy loads and serves them.
def test_the_policy_of_the_clients_page(tmp_path):
    ((_, text),) = test_docs.blocks(client_cases.CLIENTS / "README.md", "yaml")
    (tmp_path / "keys.txt").write_text("")
    (tmp_path / "policy.yaml").write_text(text)
    code, _, err = harness.run("check", str(tmp_path / "policy.yaml"))
    assert code == 0 and "warning" not in err, err


PAGES = [*sorted(client_cases.CLIENTS.glob("**/README.md")), *sorted(GUIDES.glob("from-*.md"))]
PARSERS = {
    "python": lambda: ["/usr/bin/python3", "-c", "import ast, sys; ast.parse(sys.stdin.read())"],
    "js": lambda: [harness.tool("node"), "--check", "-"],
    "php": lambda: [harness.tool("php"), "-l"],
    "go": lambda: [harness.tool("gofmt")],  # takes parts of a file from its standard input
}


# Somebody will copy it: what is shown is at least of the language.
@pytest.mark.parametrize("language", PARSERS)
def test_quoted_code_has_no_syntax_error(language):
    command, wrong = PARSERS[language](), []
    for page in PAGES:
        for line, text in test_docs.blocks(page, language):
            done = subprocess.run(command, input="<?php\n" * (language == "php") + text, capture_output=True, text=True, timeout=60)
            if done.returncode != 0:
                wrong.append(f"{test_docs.name(page)}:{line}: {done.stdout}{done.stderr}")
    assert wrong == []


@pytest.mark.parametrize("page", sorted(client_cases.CLIENTS.glob("**/README.md")), ids=test_docs.name)
def test_links_of_the_clients_lead_somewhere(page):
    test_docs.test_links_lead_somewhere(page)
