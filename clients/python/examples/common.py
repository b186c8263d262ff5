"""What the examples share: options from the environment, and who the users are."""
import os

# Stands for your sessions or tokens: a user counts once the program has verified it.
SESSIONS = {"Bearer token-of-alice": "alice", "Bearer token-of-bob": "bob"}


def options():
    return {"url": os.environ.get("PENSTOCK_URL", "http://127.0.0.1:8081"),
            "token": os.environ.get("PENSTOCK_TOKEN"),
            "deadline": int(os.environ.get("PENSTOCK_DEADLINE_MS", "50")) / 1000,
            "fail_closed": bool(os.environ.get("PENSTOCK_FAIL_CLOSED"))}
