import pytest


@pytest.fixture(autouse=True, scope="session")
def before_deepeval_is_loaded(quiet_deepeval: None) -> None:
    """Every test of this folder may load it."""
