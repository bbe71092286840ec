"""Both drivers in turn."""

import pytest

from tests.contract.drivers.speakers import KINDS, Kind


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]
