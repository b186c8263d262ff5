"""The same messages through Penstock and through the proxies of the distribution, compared."""
