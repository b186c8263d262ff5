"""started(thing) keeps a thing with close() until the test is over; last started, first ended."""
import pytest


@pytest.fixture
def started():
    things = []

    def keep(thing):
        things.append(thing)
        return thing

    yield keep
    for thing in reversed(things):
        thing.close()
