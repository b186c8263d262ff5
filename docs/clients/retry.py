"""Polite retries with nothing but the standard library: python3 retry.py URL [COUNT]

Waits what Retry-After says, else twice as long after each attempt, and always a random part of that
(full jitter), so that clients which were refused together do not return together.
"""
import email.utils
import random
import sys
import time
import urllib.error
import urllib.request

ATTEMPTS = 6
BASE, CAP = 0.5, 60.0  # seconds: the first backoff, and the longest wait that is worth it


def retry_after(value):
    """Seconds from a Retry-After field, which holds a number or a date; None without a usable one."""
    if value is None:
        return None
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError):
        return None


def wait_before(attempt, told):
    """How long to wait before attempt 1, 2, …: never less than was told, and never in step."""
    backoff = random.uniform(0, min(CAP, BASE * 2 ** attempt))
    return backoff if told is None else told + random.uniform(0, min(1.0, told / 10 + 0.1))


def get(url):
    """(status, body). Raises when the last attempt failed or a wait is not worth it."""
    for attempt in range(1, ATTEMPTS + 1):
        told = None
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                # 429 and 503 ask for patience. Other errors do not get better by asking again.
                if error.code not in (429, 503) or attempt == ATTEMPTS:
                    raise
                told = retry_after(error.headers.get("Retry-After"))
                if told is None and error.code == 429:
                    raise  # no wait helps: this request can never pass
        except urllib.error.URLError:
            if attempt == ATTEMPTS:
                raise
        if told is not None and told > CAP:
            raise TimeoutError(f"{url}: free again in {told:.0f} s")
        time.sleep(wait_before(attempt, told))


if __name__ == "__main__":
    for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 1):
        print(get(sys.argv[1])[0])
