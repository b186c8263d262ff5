"""The documentation is tested: every policy loads, every client program behaves, every link leads somewhere."""
import ast
import re
import shutil
import subprocess
import textwrap
import time

import pytest

import harness

PAGES = sorted([*harness.ROOT.glob("docs/**/*.md"), harness.ROOT / "README.md"])


def name(path):
    return str(path.relative_to(harness.ROOT))


def blocks(path, language):
    """(line, text) of each fenced block in `language`."""
    text = path.read_text()
    return [(text[:m.start()].count("\n") + 1, textwrap.dedent(m.group(3)))
            for m in re.finditer(r"^( *)```(\w*)\n(.*?)^\1```$", text, re.M | re.S) if m.group(2) == language]


POLICIES = [(page, line, text) for page in PAGES for line, text in blocks(page, "yaml")]


# Somebody will copy it: a policy in the documentation loads, and has nothing that `check` warns of
# unless it says so. Blocks of other YAML (Kubernetes, Compose, Prometheus) are not policies.
@pytest.mark.parametrize("page, line, text", POLICIES, ids=[f"{name(p)}:{n}" for p, n, _ in POLICIES])
def test_policies_in_the_documentation_load(tmp_path, page, line, text):
    if re.search(r"^(apiVersion|services|groups|scrape_configs|global|http|static_resources):", text, re.M):
        pytest.skip("not a policy")
    # A block that shows a part of a policy begins without `version`.
    part = not re.match(r"(#.*\n)*version:", text)
    policy = tmp_path / "policy.yaml"
    policy.write_text(("version: 1\n" if part else "") + text)
    for side in re.findall(r"(?:known|from): ([\w.-]+\.(?:txt|csv))", text):
        (tmp_path / side).write_text("")
    code, out, err = harness.run("check", str(policy))
    assert code == 0, f"{name(page)}:{line}:\n{err}"
    if not part:
        wrong = re.findall(r"warning: .*", err)
        allowed = re.findall(r"# warning: (.*)", text)
        assert [w for w in wrong if not any(a in w for a in allowed)] == [], f"{name(page)}:{line}:\n{err}"
        code, out, err = harness.run("explain", str(policy), "--path", "/")  # also compiles it
        assert code == 0, err


def anchors(path):
    """The fragments that headings of a page have on common hosts."""
    return {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-")
            for h in re.findall(r"^#+ (.*)$", path.read_text(), re.M)}


# A dead link is a promise that is not kept.
@pytest.mark.parametrize("page", PAGES, ids=map(name, PAGES))
def test_links_lead_somewhere(page):
    dead = []
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, fragment = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        if not there.exists() or (fragment and there.suffix == ".md" and fragment not in anchors(there)):
            dead.append(target)
    assert dead == []


# --- the client programs

CLIENTS = harness.ROOT / "docs/clients"
PROGRAMS = {
    "python": lambda build: ["/usr/bin/python3", "-B", str(CLIENTS / "retry.py")],
    "node": lambda build: [harness.tool("node"), str(CLIENTS / "retry.js")],
    "go": lambda build: go_program(build),
    "curl": lambda build: [harness.tool("curl") and "/bin/sh", str(CLIENTS / "retry.sh")],
}


def go_program(build):
    if shutil.which("go") is None:
        pytest.skip("go is not installed")
    program = build / "retry"
    subprocess.run(["go", "build", "-o", str(program), str(CLIENTS / "retry.go")], check=True, timeout=300,
                   cwd=build)
    return [str(program)]


@pytest.fixture(params=PROGRAMS, scope="module")
def program(request, tmp_path_factory):
    return request.param, PROGRAMS[request.param](tmp_path_factory.mktemp("client"))


def run(program, url, count=1):
    started = time.monotonic()
    done = subprocess.run([*program[1], url, str(count)], capture_output=True, text=True, timeout=120)
    return done, time.monotonic() - started


# A polite client gets all its answers through a limit that it exceeds, with at most one refusal for
# each wait: it never comes back too early, and the upstream sees each request once.
def test_clients_wait_as_told(program, serve, upstream):
    gateway = serve("version: 1\nlimits:\n  - { name: c, key: address, algorithm: sliding_window_log, rate: 2/2s }\n")
    done, took = run(program, f"http://127.0.0.1:{gateway.port}/", 5)
    assert done.stdout.split() == ["200"] * 5, done.stderr
    assert took >= 4  # 2 + 2 + 1 requests, two seconds between
    assert len(upstream.seen) == 5


# What no wait can help is not repeated.
def test_clients_give_up_when_no_wait_helps(program, serve, client, upstream):
    if program[0] == "curl":
        pytest.skip("curl retries every 429")
    gateway = serve("version: 1\nlimits:\n"
                    "  - { name: big, match: { path: /big }, key: address, rate: 1/1d, cost: 2 }\n"
                    "  - { name: day, match: { path: /day }, key: global, rate: 0/1d }\n")
    for path in ("big", "day"):
        done, took = run(program, f"http://127.0.0.1:{gateway.port}/{path}")
        assert "200" not in done.stdout and took < 60
    assert upstream.seen == []


# A wait that is longer than the answer is worth is reported, not slept through.
def test_clients_do_not_sleep_for_hours(program, serve, client, upstream):
    if program[0] == "curl":
        pytest.skip("curl retries as long as --retry-max-time says")
    gateway = serve("version: 1\nlimits:\n  - { name: c, key: global, rate: 1/10h }\n")
    client(gateway.port).send()
    done, took = run(program, f"http://127.0.0.1:{gateway.port}/")
    assert done.returncode != 0 and "free again in" in done.stderr and took < 60


# The page shows what the file does.
def test_quoted_code_is_the_code():
    source = (CLIENTS / "retry.py").read_text()
    for _, text in blocks(harness.ROOT / "docs/clients.md", "python"):
        ast.parse(text)
        assert text in source
