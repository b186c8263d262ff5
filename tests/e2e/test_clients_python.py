"""clients/python behind uvicorn with FastAPI, gunicorn with Django, and wsgiref."""
import importlib.util
import os
import subprocess

import client_cases
import pytest

PYTHON = "/usr/bin/python3"
FOLDER = client_cases.CLIENTS / "python"
ENVIRONMENT = {"PYTHONPATH": str(FOLDER), "PYTHONDONTWRITEBYTECODE": "1"}


def needs(module):
    """Debian's packages for Debian's interpreter."""
    if importlib.util.find_spec(module) is None:
        message = f"{module} is not installed (scripts/setup build test)"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)


class PythonCases(client_cases.ClientCases):
    raw_targets = False  # WSGI and ASGI applications route by the decoded path, so that one is asked about

    def command(self, port):
        return self.run(port), ENVIRONMENT, FOLDER / "examples"


class TestFastApi(PythonCases):
    def run(self, port):
        needs("fastapi")
        needs("uvicorn")
        # Else uvicorn believes X-Forwarded-For of everybody on loopback.
        return [PYTHON, "-m", "uvicorn", "--no-proxy-headers", "--port", str(port), "fastapi_app:app"]


class TestDjango(PythonCases):
    workers = 2

    def run(self, port):
        needs("django")
        needs("gunicorn")
        return [PYTHON, "-m", "gunicorn", "--workers", str(self.workers), "--threads", "4", "--bind",
                f"127.0.0.1:{port}", "django_app:application"]


class TestWsgiref(PythonCases):
    def run(self, port):
        return [PYTHON, "wsgi_app.py", str(port)]


def test_its_unit_tests():
    done = subprocess.run([PYTHON, "-m", "unittest", "discover", "-s", "tests"], cwd=FOLDER,
                          env={**os.environ, **ENVIRONMENT}, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
