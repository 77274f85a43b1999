import os

import pytest

from tests.support.deepeval_settings import configure_deepeval


@pytest.fixture(autouse=True, scope="session")
def quiet_deepeval(tmp_path_factory: pytest.TempPathFactory) -> None:
    # Not undone: DeepEval reads its opt-out again when the interpreter ends.
    configure_deepeval(os.environ, tmp_path_factory.mktemp("deepeval"))
