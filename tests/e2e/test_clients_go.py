"""clients/go behind a net/http server."""
import os
import subprocess

import client_cases
import harness
import pytest

GO = client_cases.CLIENTS / "go"


@pytest.fixture(scope="module", autouse=True)
def program(tmp_path_factory):
    """The example, built once, without a module from elsewhere."""
    folder = tmp_path_factory.mktemp("go")
    environment = {**os.environ, "GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOTOOLCHAIN": "local"}
    TestNetHttp.binary = str(folder / "api")
    TestNetHttp.go = lambda *arguments: subprocess.run(
        [harness.tool("go"), *arguments], cwd=GO, env=environment, capture_output=True, text=True, timeout=600)
    built = TestNetHttp.go("build", "-o", TestNetHttp.binary, "./example")
    assert built.returncode == 0, built.stderr


class TestNetHttp(client_cases.ClientCases):
    def command(self, port):
        return [self.binary], {"PORT": str(port)}, None


def test_its_unit_tests():
    done = TestNetHttp.go("test", "-vet=off", "./...")
    assert done.returncode == 0, done.stdout + done.stderr
