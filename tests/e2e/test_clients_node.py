"""clients/node behind Express and Fastify, two versions each, which scripts/node_tools takes from the npm
registry as packages/npm/package-lock.json says."""
import subprocess

import client_cases
import harness
import pytest

FOLDER = client_cases.CLIENTS / "node"
MODULES = harness.ROOT / "build/npm/node_modules"


class NodeCases(client_cases.ClientCases):
    module = ""
    program = ""

    def command(self, port):
        if not (MODULES / self.module / "package.json").exists():
            harness.not_fetched(self.module, "scripts/node_tools", "build/npm")
        environment = {"PORT": str(port), "NODE_PATH": str(MODULES), "EXPRESS": self.module, "FASTIFY": self.module}
        return [harness.tool("node"), self.program], environment, FOLDER / "examples"


class TestExpress5(NodeCases):
    module, program = "express", "express_app.js"


class TestExpress4(NodeCases):
    module, program = "express4", "express_app.js"


class TestFastify4(NodeCases):
    module, program = "fastify4", "fastify_app.js"


class TestFastify5(NodeCases):
    module, program = "fastify", "fastify_app.js"

    def command(self, port):
        version = subprocess.run([harness.tool("node"), "--version"], capture_output=True, text=True).stdout
        if int(version[1:].split(".")[0]) < 20:
            pytest.skip(f"Fastify 5 needs Node 20, this is {version}")
        return super().command(port)


def test_its_unit_tests():
    done = subprocess.run([harness.tool("node"), "--test", "test/"], cwd=FOLDER, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
