"""Headless Chromium over its debugging pipe: pages are opened, looked at and clicked by JavaScript.
No driver and no port: JSON messages ended by NUL on file descriptors 3 and 4."""
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

import harness


class Browser:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="penstock-browser-")
        to_read, self.to = os.pipe()
        self.back, to_write = os.pipe()
        # Descriptors 3 and 4 are fixed by Chromium; bash moves ours there: dash knows no descriptor above 9.
        self.child = subprocess.Popen(
            ["/bin/bash", "-c", f'exec "$@" 3<&{to_read} 4>&{to_write}', "sh", harness.tool("chromium"), "--headless=new",
             "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
             "--disable-dev-shm-usage", f"--user-data-dir={self.folder}", "--remote-debugging-pipe"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            pass_fds=(to_read, to_write), start_new_session=True)
        os.close(to_read)
        os.close(to_write)
        self.number, self.pending, self.events = 0, b"", []

    def receive(self, until):
        """The next message."""
        while b"\0" not in self.pending:
            if not select.select([self.back], [], [], max(0, until - time.monotonic()))[0]:
                raise AssertionError("the browser does not answer")
            chunk = os.read(self.back, 1 << 20)
            if not chunk:
                raise AssertionError("the browser ended")
            self.pending += chunk
        message, self.pending = self.pending.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=None, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + 60
        while True:
            got = self.receive(until)
            if got.get("id") == self.number:
                assert "error" not in got, f"{method}: {got}"
                return got["result"]
            self.events.append(got)

    def open(self, url, width=1200, height=900, scheme="light"):
        return Page(self, url, width, height, scheme)

    def close(self):
        if self.child.poll() is None:
            os.killpg(self.child.pid, signal.SIGTERM)
            try:
                self.child.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(self.child.pid, signal.SIGKILL)
                self.child.wait()
        os.close(self.to)
        os.close(self.back)
        shutil.rmtree(self.folder, ignore_errors=True)


class Page:
    def __init__(self, browser, url, width, height, scheme):
        self.browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.navigate", url=url)
        self.wait("location.href !== 'about:blank' && document.readyState === 'complete'", "the page is loaded")

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def run(self, script):
        """The value of a JavaScript expression; promises are waited for."""
        done = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def wait(self, script, what):
        return harness.wait_for(lambda: self.run(script), what, 30)

    def complaints(self):
        """What the browser reported: exceptions, violated content policies, dialogs; and all requested URLs."""
        mine = [e for e in self.browser.events if e.get("sessionId") == self.session]
        bad = [e["params"] for e in mine if e["method"] in ("Runtime.exceptionThrown", "Page.javascriptDialogOpening")]
        bad += [e["params"]["entry"]["text"] for e in mine if e["method"] == "Log.entryAdded"
                and e["params"]["entry"]["level"] == "error"]
        urls = [e["params"]["request"]["url"] for e in mine if e["method"] == "Network.requestWillBeSent"]
        return bad, urls
