"""Which address is the client: one row per case, as (name, peer, trusted, address_from, fields, client).

The rows are the standard cases of forwarding headers (RFC 7239, nginx's recursive real-IP walk) and the
spoofing holes that have been found in other proxies. test_explain.py asks `penstock explain` about
each, test_policy.py sends those through a socket that a loopback peer can send.
"""

ROWS = [
    ("untrusted peer: header ignored", "203.0.113.9", "10.0.0.0/8", "x-forwarded-for", ["X-Forwarded-For: 1.2.3.4"], "203.0.113.9"),
    ("trusted peer, no header", "10.0.0.1", "10.0.0.0/8", "x-forwarded-for", [], "10.0.0.1"),
    ("one hop", "10.0.0.1", "10.0.0.0/8", "x-forwarded-for", ["X-Forwarded-For: 203.0.113.9"], "203.0.113.9"),
    ("left part is client supplied", "10.0.0.1", "10.0.0.0/8", "x-forwarded-for", ["X-Forwarded-For: 1.2.3.4, 203.0.113.9"], "203.0.113.9"),
    ("skip trusted hop", "10.0.0.1", "10.0.0.0/8", "x-forwarded-for", ["X-Forwarded-For: 1.2.3.4, 203.0.113.9, 10.0.0.7"], "203.0.113.9"),
    ("all trusted: left-most", "10.0.0.1", "10.0.0.0/8", "x-forwarded-for", ["X-Forwarded-For: 10.0.0.3, 10.0.0.2"], "10.0.0.3"),
    ("two field lines are one list", "10.0.0.1", "10.0.0.0/8", "x-forwarded-for", ["X-Forwarded-For: 203.0.113.9", "X-Forwarded-For: 198.51.100.2, 10.0.0.2"], "198.51.100.2"),
    ("unparsable: keep trusted hop", "10.0.0.1", "10.0.0.0/8", "x-forwarded-for", ["X-Forwarded-For: garbage"], "10.0.0.1"),
    ("stop at 'unknown'; never look past it", "10.0.0.1", "10.0.0.0/8", "x-forwarded-for", ["X-Forwarded-For: 203.0.113.9, unknown, 10.0.0.2"], "10.0.0.2"),
    ("untrusted found before the bad token", "10.0.0.1", "10.0.0.0/8", "x-forwarded-for", ["X-Forwarded-For: unknown, 203.0.113.9"], "203.0.113.9"),
    ("IPv4 with port", "10.0.0.1", "10.0.0.0/8", "x-forwarded-for", ["X-Forwarded-For: 203.0.113.9:51000"], "203.0.113.9"),
    ("bracketed IPv6 with port", "10.0.0.1", "10.0.0.0/8", "x-forwarded-for", ["X-Forwarded-For: [2001:db8::7]:443"], "2001:db8::7"),
    ("bare IPv6", "10.0.0.1", "10.0.0.0/8", "x-forwarded-for", ["X-Forwarded-For: 2001:db8::7"], "2001:db8::7"),
    ("bracketed IPv6", "10.0.0.1", "10.0.0.0/8", "x-forwarded-for", ["X-Forwarded-For: [2001:db8::7]"], "2001:db8::7"),
    ("canonical text", "10.0.0.1", "10.0.0.0/8", "x-forwarded-for", ["X-Forwarded-For: 2001:DB8:0:0:0:0:0:7"], "2001:db8::7"),
    ("mapped peer matches IPv4 list", "::ffff:10.0.0.1", "10.0.0.0/8", "x-forwarded-for", ["X-Forwarded-For: 203.0.113.9"], "203.0.113.9"),
    ("mapped client becomes IPv4", "10.0.0.1", "10.0.0.0/8", "x-forwarded-for", ["X-Forwarded-For: ::ffff:203.0.113.9"], "203.0.113.9"),
    ("same address, hex spelling", "10.0.0.1", "10.0.0.0/8", "x-forwarded-for", ["X-Forwarded-For: ::ffff:cb00:7109"], "203.0.113.9"),
    ("mapped CIDR in the trusted list", "10.0.0.1", "::ffff:10.0.0.0/104", "x-forwarded-for", ["X-Forwarded-For: 203.0.113.9"], "203.0.113.9"),
    ("zone id on the peer", "fe80::1%eth0", "fe80::/10", "x-forwarded-for", ["X-Forwarded-For: 203.0.113.9"], "203.0.113.9"),
    ("zone id dropped", "10.0.0.1", "10.0.0.0/8", "x-forwarded-for", ["X-Forwarded-For: fe80::9%25eth1"], "fe80::9"),
    ("leading zero octet: not an address", "10.0.0.1", "10.0.0.0/8", "x-forwarded-for", ["X-Forwarded-For: 203.0.113.09"], "10.0.0.1"),
    ("empty elements skipped", "10.0.0.1", "10.0.0.0/8", "x-forwarded-for", ["X-Forwarded-For: 203.0.113.9,,10.0.0.2, "], "203.0.113.9"),
    ("empty header", "10.0.0.1", "10.0.0.0/8", "x-forwarded-for", ["X-Forwarded-For: "], "10.0.0.1"),
    ("bad port: not an address", "10.0.0.1", "10.0.0.0/8", "x-forwarded-for", ["X-Forwarded-For: 203.0.113.9:99999"], "10.0.0.1"),
    ("IPv6 trusted range", "2001:db8:1::1", "2001:db8:1::/48", "x-forwarded-for", ["X-Forwarded-For: 2001:db8:2::5, 2001:db8:1::2"], "2001:db8:2::5"),
    ("simple", "10.0.0.1", "10.0.0.0/8", "forwarded", ["Forwarded: for=192.0.2.60;proto=http;by=203.0.113.43"], "192.0.2.60"),
    ("quoted IPv6 and port, name case", "10.0.0.1", "10.0.0.0/8", "forwarded", ['Forwarded: For="[2001:db8:cafe::17]:4711"'], "2001:db8:cafe::17"),
    ("walk from the right", "10.0.0.1", "10.0.0.0/8", "forwarded", ['Forwarded: for=192.0.2.43, for="[2001:db8:cafe::17]", for=10.0.0.5'], "2001:db8:cafe::17"),
    ("obfuscated: stop", "10.0.0.1", "10.0.0.0/8", "forwarded", ["Forwarded: for=192.0.2.43", "Forwarded: for=_hidden"], "10.0.0.1"),
    ("unknown: stop", "10.0.0.1", "10.0.0.0/8", "forwarded", ["Forwarded: for=unknown"], "10.0.0.1"),
    ("obfuscated port (strict: not an address)", "10.0.0.1", "10.0.0.0/8", "forwarded", ['Forwarded: for="192.0.2.43:_port"'], "10.0.0.1"),
    ("right-most element without for=: stop", "10.0.0.1", "10.0.0.0/8", "forwarded", ['Forwarded: for="192.0.2.43:47011";proto=https, by=10.0.0.9'], "10.0.0.1"),
    ("unterminated quote: ignore field", "10.0.0.1", "10.0.0.0/8", "forwarded", ['Forwarded: for="1.2.3.4, for=5.6.7.8'], "10.0.0.1"),
    ("comma inside quotes is data", "10.0.0.1", "10.0.0.0/8", "forwarded", ['Forwarded: for="9.9.9.9\\, for=1.1.1.1"'], "10.0.0.1"),
    ("unquoted IPv6 is malformed", "10.0.0.1", "10.0.0.0/8", "forwarded", ["Forwarded: for=2001:db8::1"], "10.0.0.1"),
    ("single value", "10.0.0.1", "10.0.0.0/8", "x-real-ip", ["X-Real-IP: 203.0.113.9"], "203.0.113.9"),
    ("two values: ignore", "10.0.0.1", "10.0.0.0/8", "x-real-ip", ["X-Real-IP: 203.0.113.9", "X-Real-IP: 1.2.3.4"], "10.0.0.1"),
    ("untrusted peer", "198.51.100.7", "10.0.0.0/8", "x-real-ip", ["X-Real-IP: 203.0.113.9"], "198.51.100.7"),
]
