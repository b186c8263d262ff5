"""The dashboard in headless Chromium, as a person sees it: light and dark, wide and narrow, with a
token and with hostile names."""
import json

import browser
import harness
import pytest

HOSTILE = ['<img src=x onerror=alert(1)>', '"><script>alert(2)</script>', "';alert(3);//", "${alert(4)}",
           "javascript:alert(5)", "<svg onload=alert(6)>", "\u202eevil", "&lt;b&gt;"]

POLICY = """\
version: 1
limits:
  - { name: per-tenant, key: header(X-Tenant), rate: 2/h }
"""


@pytest.fixture
def chromium(started):
    return started(browser.Browser())


def text(page, selector):
    return page.run(f"document.querySelector({json.dumps(selector)}).innerText")


# Requests show up as outcomes, refusals and top keys; a key is inspected and freed from the page.
def test_a_person_finds_and_frees_the_stopped_client(serve, client, chromium):
    gateway = serve(POLICY, "--admin", "127.0.0.1:0")
    admin = int(gateway.wait_for_line(r"admin listening on http://[^ ]*:(\d+)").group(1))
    c = client(gateway.port)
    statuses = [c.send(headers={"X-Tenant": "acme"}).status for _ in range(5)]
    assert statuses == [200, 200, 429, 429, 429]

    page = chromium.open(f"http://127.0.0.1:{admin}/")
    page.wait("document.querySelector('#state').innerText === 'ready'", "the page is connected")
    row = page.wait("document.querySelector('#limits tbody tr').innerText", "the limit is listed")
    assert "per-tenant" in row and "2" in row and "3" in row
    page.wait("document.querySelectorAll('#offenders button').length >= 3", "the key is listed")
    assert "429" in text(page, "#refusals tbody")
    page.run("document.querySelector('#offenders button').click()")
    page.wait("document.querySelector('#inspected').innerText.includes('refused for')", "the key is inspected")
    page.run("[...document.querySelectorAll('#offenders button')].find(b => b.innerText === 'Free').click()")
    page.wait("document.querySelector('#message').innerText.startsWith('Done: reset')", "the key is freed")
    assert c.send(headers={"X-Tenant": "acme"}).status == 200
    page.wait("document.querySelector('#events').innerText.includes('reset')", "the change is an event")
    gateway.wait_for_line(r'"audit":"reset"')
    # The history has its second point after two steps of five seconds.
    page.wait("document.querySelectorAll('#chart-outcomes path').length > 0", "the outcomes are drawn")

    bad, urls = page.complaints()
    assert bad == []
    assert {u.split("/")[2] for u in urls if u.startswith("http")} == {f"127.0.0.1:{admin}"}


# A page that is open sees what happens after it was loaded: nothing at first, then traffic, then a store
# that went away and came back.
def test_an_open_page_follows_what_happens(started, serve, client, chromium):
    port = harness.free_port()
    arguments = [harness.tool("redis-server"), "--port", str(port), "--save", "", "--bind", "127.0.0.1"]
    redis = started(harness.Process(arguments, "redis"))
    harness.wait_for(lambda: harness.accepts(port), "Redis listens")
    gateway = serve(f'{POLICY}store: {{ url: "redis://127.0.0.1:{port}" }}\n', "--admin", "127.0.0.1:0", "--workers", "1")
    admin = int(gateway.wait_for_line(r"admin listening on http://[^ ]*:(\d+)").group(1))
    page = chromium.open(f"http://127.0.0.1:{admin}/")
    page.wait("document.querySelector('#state').innerText === 'ready'", "the page is connected")
    for table, nothing in (("offenders", "nobody"), ("bans", "none"), ("refusals", "none yet")):
        page.wait(f"document.querySelector('#{table} tbody').innerText === '{nothing}'", f"{table}: {nothing}")

    c = client(gateway.port)
    assert [c.send(headers={"X-Tenant": "acme"}).status for _ in range(4)] == [200, 200, 429, 429]
    page.wait("document.querySelector('#refusals tbody').innerText.includes('429')", "the refusals appear by themselves")
    page.wait("document.querySelectorAll('#offenders button').length >= 3", "and the key")

    redis.child.kill()
    redis.child.wait()
    page.wait("document.querySelector('#state').innerText === 'degraded'", "the outage is seen")
    assert "store" in text(page, "#reasons")
    assert c.send(headers={"X-Tenant": "other"}).status == 200
    page.wait("document.querySelector('#events').innerText.includes('store does not answer')", "it is an event")
    started(harness.Process(arguments, "redis"))
    page.wait("document.querySelector('#state').innerText === 'ready'", "the store is back")
    assert page.complaints()[0] == []


# Names come from clients and files: none of them may run, in the page or in its attributes.
def test_hostile_names_are_only_text(serve, client, chromium):
    limits = "".join(f"  - {{ name: l{i}, match: {{ path: {json.dumps(f'/{i}/**')} }}, "
                     "key: header(X-Tenant), show: true, on_missing_key: shared, rate: 0/h }\n" for i in range(3))
    gateway = serve("version: 1\nlimits:\n" + limits, "--admin", "127.0.0.1:0")
    admin = int(gateway.wait_for_line(r"admin listening on http://[^ ]*:(\d+)").group(1))
    c = client(gateway.port)
    for name in HOSTILE:
        c.send(path="/1", headers={"X-Tenant": name.encode("utf-8").decode("latin-1")})
        c.send(path="/1?" + "".join(f"%{b:02x}" for b in name.encode()))
        c.send(path="/2/" + "".join(f"%{b:02x}" for b in name.encode()).replace("%2f", "_"))
    page = chromium.open(f"http://127.0.0.1:{admin}/")
    page.wait("document.querySelectorAll('#refusals tbody tr').length > 3", "refusals are listed")
    page.run(f"inspect('', {json.dumps(HOSTILE[0])})")
    assert page.run("document.querySelectorAll('main img, main script').length") == 0
    assert page.complaints()[0] in ([], ["Failed to load resource: the server responded with a status of 400 (Bad Request)"])


# The token is asked for, kept out of the address and of the page, and a wrong one says so.
def test_a_token_is_asked_for(serve, chromium):
    gateway = serve(POLICY + 'admin: { listen: "127.0.0.1:0", token: a-s3cret-token-of-26-letters }\n')
    admin = int(gateway.wait_for_line(r"admin listening on http://[^ ]*:(\d+)").group(1))
    page = chromium.open(f"http://127.0.0.1:{admin}/")
    page.wait("!document.querySelector('#login').hidden", "the token is asked for")
    for token, want in (("wrong", "no access"), ("a-s3cret-token-of-26-letters", "ready")):
        page.run(f"document.querySelector('#token').value = {json.dumps(token)}; document.querySelector('#login').requestSubmit()")
        page.wait(f"document.querySelector('#state').innerText === '{want}'", f"{token}: {want}")
        if token == "wrong":
            page.wait("document.querySelector('#login-problem').innerText.includes('wrong')", "it says so")
    assert page.run("document.querySelector('#login').hidden")
    assert "a-s3cret-token-of-26-letters" not in page.run("document.documentElement.outerHTML")
    assert not any("a-s3cret-token-of-26-letters" in url for url in page.complaints()[1])
    assert "a-s3cret-token-of-26-letters" not in gateway.log


# Both themes have readable text, and a phone shows everything without scrolling sideways.
@pytest.mark.parametrize("scheme, width", [("light", 1200), ("dark", 1200), ("light", 360), ("dark", 360)])
def test_themes_and_widths(serve, chromium, scheme, width):
    gateway = serve(POLICY, "--admin", "127.0.0.1:0")
    admin = int(gateway.wait_for_line(r"admin listening on http://[^ ]*:(\d+)").group(1))
    page = chromium.open(f"http://127.0.0.1:{admin}/", width=width, scheme=scheme)
    page.wait("document.querySelector('#state').innerText === 'ready'", "the page is connected")
    assert page.run("document.documentElement.scrollWidth <= window.innerWidth")
    contrast = """(() => {
      const light = c => { const [r, g, b] = c.match(/\\d+/g).map(v => { v /= 255;
          return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126*r + 0.7152*g + 0.0722*b; };
      const ratio = (e, ground) => { const a = light(getComputedStyle(e).color), b = light(getComputedStyle(ground).backgroundColor);
          return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); };
      const card = document.querySelector('section');
      return Math.min(...[...card.querySelectorAll('b, span')].map(e => ratio(e, card)),
                      ratio(document.querySelector('#state'), document.querySelector('header')));
    })()"""
    assert page.run(contrast) >= 4.5
    dark = page.run("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).every(v => v < 80)")
    assert dark == (scheme == "dark")
