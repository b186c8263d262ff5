"""clients/php behind PHP's own server: a PSR-15 pipeline with Nyholm's PSR-7, and Laravel's container,
request and pipeline. Several processes, each with a connection that outlives its requests, as in FPM."""
import os
import subprocess

import client_cases
import harness
import pytest

FOLDER = client_cases.CLIENTS / "php"


class PhpCases(client_cases.ClientCases):
    workers = 3
    program = ""
    needs = ""

    def command(self, port):
        php = harness.tool("php")
        if not os.path.exists(self.needs):
            message = f"{self.needs} is not installed (scripts/setup build test)"
            if os.environ.get("CI") == "true":
                pytest.fail(message)
            pytest.skip(message)
        return [php, "-S", f"127.0.0.1:{port}", self.program], {"PHP_CLI_SERVER_WORKERS": str(self.workers)}, FOLDER / "examples"


class TestPsr15(PhpCases):
    program, needs = "psr15_app.php", "/usr/share/php/Nyholm/Psr7/autoload.php"


class TestLaravel(PhpCases):
    program, needs = "laravel_app.php", "/usr/share/php/Illuminate/Container/autoload.php"


def test_its_unit_tests():
    done = subprocess.run([harness.tool("php"), "tests/run.php"], cwd=FOLDER, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
