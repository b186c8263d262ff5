"""A private authority, certificates that it issues, and connections that check them."""
import os
import pathlib
import socket
import ssl
import subprocess
import tempfile

import harness


class Certificates:
    """A private authority and certificates for some names, in one folder."""

    def __init__(self, *names):
        self.folder = tempfile.mkdtemp(prefix="penstock-tls-")
        for authority in ("ca", "other"):
            self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                         "-keyout", f"{authority}.key", "-out", f"{authority}.pem", "-subj", f"/CN=Test {authority}",
                         "-days", "2")
        for name in names:
            self.issue(name)

    def openssl(self, *args):
        subprocess.run([harness.tool("openssl"), *args], cwd=self.folder, check=True, capture_output=True)

    def issue(self, name, days="2", authority="ca"):
        kind = "IP" if name[0].isdigit() else "DNS"
        (pathlib.Path(self.folder) / "ext").write_text(f"subjectAltName={kind}:{name}\n")
        self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
                     f"{name}.key", "-out", "request", "-subj", f"/CN={name}")
        self.openssl("x509", "-req", "-in", "request", "-CA", f"{authority}.pem", "-CAkey",
                     f"{authority}.key", "-CAcreateserial", "-days", days, "-extfile", "ext", "-out", f"{name}.pem")

    def path(self, name):
        return os.path.join(self.folder, name)

    def trusting(self, **more):
        context = ssl.create_default_context(cafile=self.path("ca.pem"))
        for name, value in more.items():
            setattr(context, name, value)
        return context

    def close(self):
        subprocess.run(["rm", "-rf", self.folder], check=True)


def connect(port, context, name="one.test"):
    plain = socket.create_connection(("127.0.0.1", port), timeout=10)
    try:
        return context.wrap_socket(plain, server_hostname=name)
    except BaseException:
        plain.close()
        raise
