"""The PROXY protocol through the real binary: who sends the header names the client, and only who is trusted.

127.0.0.1 plays the balancer, 127.0.0.2 a client that comes past it.
"""
import re
import socket
import struct

import pytest


POLICY = """\
version: 1
client: { trusted_proxies: [127.0.0.1], address_from: proxy-protocol }
identity: { user: { header: X-User-Id } }
limits:
  - { name: c, key: address, rate: 2/1d }
"""
REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
SIGNATURE = bytes.fromhex("0d0a0d0a000d0a515549540a")


def talk(port, *parts, source="127.0.0.1"):
    """Sends parts one by one; all that comes back. An end without an answer is b""."""
    with socket.create_connection(("127.0.0.1", port), timeout=20, source_address=(source, 0)) as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        data = b""
        try:
            for part in parts:
                s.sendall(part)
            while part := s.recv(65536):
                data += part
        except (ConnectionResetError, BrokenPipeError):
            pass
        return data


def status(answer):
    return int(answer.split(b" ", 2)[1]) if answer else None


def statuses(answer):
    return re.findall(rb"HTTP/1.1 (\d+)", answer)


def v2(command, family, addresses=b"", tlvs=b""):
    return SIGNATURE + bytes([0x20 | command, family]) + struct.pack(">H", len(addresses) + len(tlvs)) + addresses + tlvs


def tcp4(client, port=56324):
    return socket.inet_aton(client) + socket.inet_aton("198.51.100.1") + struct.pack(">HH", port, 443)


def tcp6(client):
    return socket.inet_pton(socket.AF_INET6, client) + socket.inet_pton(socket.AF_INET6, "2001:db8::2") + struct.pack(">HH", 1, 443)


def crc32c(data):
    crc = 0xFFFFFFFF
    for octet in data:
        crc ^= octet
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def checked(header, good=True):
    """The header with a CRC32C in it, over itself with the field zeroed."""
    with_zeros = SIGNATURE + header[12:14] + struct.pack(">H", len(header) - 16 + 7) + header[16:] + b"\x03\x00\x04" + bytes(4)
    return with_zeros[:-4] + struct.pack(">I", crc32c(with_zeros) ^ (0 if good else 1))


GOOD = [  # name, header, the client
    ("v1 TCP4", b"PROXY TCP4 203.0.113.1 198.51.100.1 56324 443\r\n", "203.0.113.1"),
    ("v1 TCP6", b"PROXY TCP6 2001:db8::7 2001:db8::2 1 65535\r\n", "2001:db8::7"),
    ("v1 UNKNOWN", b"PROXY UNKNOWN\r\n", "127.0.0.1"),
    ("v1 UNKNOWN with what is to be ignored", b"PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n", "127.0.0.1"),
    ("v2 TCP4", bytes.fromhex("0d0a0d0a000d0a515549540a2111000cc0000201c6336401dc0401bb"), "192.0.2.1"),
    ("v2 TCP6", bytes.fromhex("0d0a0d0a000d0a515549540a2121002420010db800000000000000000000000120010db8000000000000"
                              "000000000002dc0401bb"), "2001:db8::1"),
    ("v2 TCP4 and NOOP", bytes.fromhex("0d0a0d0a000d0a515549540a21110012c0000201c6336401dc0401bb040003000000"), "192.0.2.1"),
    ("v2 LOCAL", bytes.fromhex("0d0a0d0a000d0a515549540a20000000"), "127.0.0.1"),
    ("v2 LOCAL with octets to skip", v2(0, 0, tlvs=b"\x04\x00\x01x"), "127.0.0.1"),
    ("v2 mapped address", v2(1, 0x21, tcp6("::ffff:203.0.113.5")), "203.0.113.5"),
    ("v2 unknown TLVs", v2(1, 0x11, tcp4("203.0.113.6"), b"\xe0\x00\x02ab\x02\x00\x03sni"), "203.0.113.6"),
    ("v2 checksum", checked(v2(1, 0x11, tcp4("203.0.113.7"))), "203.0.113.7"),
]
BAD = [
    ("none", b""),
    ("v1 leading zero", b"PROXY TCP4 192.0.2.1 198.51.100.1 056324 443\r\n"),
    ("v1 two spaces", b"PROXY  TCP4 192.0.2.1 198.51.100.1 56324 443\r\n"),
    ("v1 family", b"PROXY TCP4 2001:db8::1 2001:db8::2 56324 443\r\n"),
    ("v1 LF alone", b"PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\n"),
    ("v1 too long", b"PROXY UNKNOWN " + b"x" * 107 + b"\r\n"),
    ("v1 port", b"PROXY TCP4 192.0.2.1 198.51.100.1 65536 443\r\n"),
    ("v1 lower case", b"proxy TCP4 192.0.2.1 198.51.100.1 56324 443\r\n"),
    ("v2 version", SIGNATURE + bytes.fromhex("3111000c") + tcp4("192.0.2.1")),
    ("v2 command", v2(2, 0x11, tcp4("192.0.2.1"))),
    ("v2 length", v2(1, 0x11, tcp4("192.0.2.1")[:8])),
    ("v2 TLV past the end", v2(1, 0x11, tcp4("192.0.2.1"), b"\x04\x00\x09x")),
    ("v2 checksum", checked(v2(1, 0x11, tcp4("192.0.2.1")), good=False)),
    ("v2 too long", SIGNATURE + b"\x21\x11\xff\xff" + bytes(65535)),
]


# The address in the header is the client: it is counted, and the upstream is told of it.
@pytest.mark.parametrize("split", ["whole", "octets"])
def test_a_trusted_balancer_names_the_client(serve, upstream, split):
    gateway = serve(POLICY.replace("2/1d", "1000/1d"))
    for name, header, client in GOOD:
        parts = [header + REQUEST] if split == "whole" else [*(bytes([o]) for o in header), REQUEST]
        answer = talk(gateway.port, *parts)
        assert status(answer) == 200, (name, answer)
        told = dict(upstream.seen[-1]["headers"])
        assert (told["x-real-ip"], told["x-forwarded-for"]) == (client, client), name


# Clients behind one balancer have counters of their own, and one that is refused refuses nobody else.
def test_clients_behind_a_balancer_are_counted_apart(serve):
    port = serve(POLICY).port
    ask = lambda a: status(talk(port, v2(1, 0x11, tcp4(a)) + REQUEST))
    assert [ask("203.0.113.1") for _ in range(3)] == [200, 200, 429]
    assert [ask("203.0.113.2") for _ in range(3)] == [200, 200, 429]
    v1 = lambda a: status(talk(port, f"PROXY TCP4 {a} 198.51.100.1 1 2\r\n".encode() + REQUEST))
    assert v1("203.0.113.1") == 429  # whichever version says it


# Every request of the connection is the client's; a second header is no request.
def test_one_header_for_each_connection(serve, upstream):
    port = serve(POLICY).port
    header = v2(1, 0x11, tcp4("203.0.113.1"))
    kept = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    answer = talk(port, header + kept * 2 + REQUEST)
    assert statuses(answer) == [b"200", b"200", b"429"]
    answer = talk(port, v2(1, 0x11, tcp4("203.0.113.9")) + kept + b"PROXY TCP4 9.9.9.9 1.1.1.1 1 2\r\n" + REQUEST)
    assert statuses(answer) == [b"200", b"400"]
    assert len(upstream.seen) == 3


# A balancer that must send the header and does not, or sends nonsense, is not guessed about.
@pytest.mark.parametrize("name, header", BAD, ids=[b[0] for b in BAD])
def test_a_broken_header_ends_the_connection(serve, upstream, name, header):
    gateway = serve(POLICY)
    assert talk(gateway.port, header + REQUEST) == b""
    assert upstream.seen == []
    assert status(talk(gateway.port, GOOD[0][1] + REQUEST)) == 200


# A client that comes past the balancer cannot name itself: its header is no HTTP, and without one it is its address.
def test_an_untrusted_peer_is_not_believed(serve, upstream):
    port = serve(POLICY).port
    for _, header, _ in GOOD:
        answer = talk(port, header + REQUEST, source="127.0.0.2")
        assert status(answer) in (None, 400)
    assert upstream.seen == []
    assert [status(talk(port, REQUEST, source="127.0.0.2")) for _ in range(3)] == [200, 200, 429]
    assert dict(upstream.seen[-1]["headers"])["x-real-ip"] == "127.0.0.2"


# The balancer speaks TCP: it vouches for an address, not for what its clients write into HTTP fields.
def test_fields_of_its_clients_are_not_believed(serve, upstream):
    port = serve(POLICY).port
    answer = talk(port, v2(1, 0x11, tcp4("203.0.113.1")) + b"GET / HTTP/1.1\r\nHost: x\r\nX-User-Id: root\r\n"
                  b"X-Forwarded-For: 9.9.9.9\r\nForwarded: for=9.9.9.9\r\nX-Real-IP: 9.9.9.9\r\nConnection: close\r\n\r\n")
    assert status(answer) == 200
    told = dict(upstream.seen[-1]["headers"])
    assert (told["x-forwarded-for"], told["x-real-ip"]) == ("203.0.113.1", "203.0.113.1")
    assert "x-user-id" not in told and "forwarded" not in told
