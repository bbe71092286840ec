import pytest

from tests.unit.model.speaker import Speaker


@pytest.fixture
def q() -> Speaker:
    return Speaker()
