"""Loading DeepEval without its side effects.

Nothing of the gate imports DeepEval before ``load_deepeval`` is called: it costs seconds and 100 MB, and on import it
reads ``.env`` files of the working directory unless the environment forbids it.
"""

import functools
import gc
import sys
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from importlib import metadata
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NoReturn

from ratiba_action.errors import ConfigurationError
from ratiba_action.util.installation import install_command

QUIET: Mapping[str, str] = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "DEEPEVAL_DISABLE_DOTENV": "1",
    "DEEPEVAL_DISABLE_LEGACY_KEYFILE": "1",
    "DEEPEVAL_DISABLE_TIMEOUTS": "1",
    "CONFIDENT_OPEN_BROWSER": "0",
    "DEEPEVAL_NO_INSPECT_PROMPT": "1",
}


_UNUSED = frozenset({"anthropic", "google.genai", "redis"})
"""Libraries that DeepEval imports where it finds them, for models and locks of its own that the gate never uses."""


class _Hiding(MetaPathFinder):
    """Lets one thread find no package of these names; other threads import them as ever."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = names
        self._thread = threading.get_ident()

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        del path, target
        if fullname in self._names and threading.get_ident() == self._thread:
            raise ModuleNotFoundError(f"{fullname} is not loaded for DeepEval", name=fullname)


@contextmanager
def _hidden(names: Collection[str]) -> Iterator[None]:
    finder = _Hiding(names)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


_CLIENTS = frozenset(
    {
        *("aiohttp", "botocore", "grpc", "httpx", "openai", "requests"),
        *("deepeval.models.embedding_models", "deepeval.models.llms", "deepeval.models.stt", "deepeval.models.tts"),
        *("deepeval.models.system_one", "deepeval.voice"),
    }
)
"""What DeepEval reaches models and services of its own by: half of the time that it takes to import."""


class _Placeholder(type):
    """A class without instances: its attributes are such classes too, and a call of it raises ``TypeError``."""

    def __getattr__(cls, name: str) -> Any:
        return _placeholder(name)

    def __call__(cls, *_: object, **__: object) -> NoReturn:
        raise TypeError(f"{cls.__name__} is not loaded for DeepEval")


def _placeholder(name: str) -> Any:
    if name.startswith("__"):  # what Python itself looks for is not there
        raise AttributeError(name)
    # An exception, so that ``except`` takes it.
    return _Placeholder(name, (Exception,), {"__class_getitem__": classmethod(lambda cls, _: cls)})


class _EmptyModule(ModuleType):
    def __getattr__(self, name: str) -> Any:
        found = _placeholder(name)
        setattr(self, name, found)
        return found


class _Emptying(MetaPathFinder, Loader):
    """Finds empty modules for these names and all below them."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = names

    def replaces(self, fullname: str) -> bool:
        """Whether a module is one of them."""
        parts = fullname.split(".")
        return any(".".join(parts[:number]) in self._names for number in range(1, len(parts) + 1))

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        del path, target
        return ModuleSpec(fullname, self, is_package=True) if self.replaces(fullname) else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _EmptyModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is in it."""


def load_deepeval_only() -> None:
    """Import DeepEval in a process that calls no model and no service itself, without what it would do so by.

    A release that needs more of that to be imported is imported whole.

    Raises:
        ConfigurationError: it is not installed.
    """
    emptying = _Emptying(_CLIENTS)
    sys.meta_path.insert(0, emptying)
    try:
        load_deepeval()
    except Exception:  # noqa: BLE001 - whatever it is, if it is DeepEval's own fault it comes again
        sys.meta_path.remove(emptying)
        for name in [name for name in sys.modules if name.partition(".")[0] == "deepeval" or emptying.replaces(name)]:
            del sys.modules[name]
        load_deepeval()


@functools.cache
def load_deepeval() -> ModuleType:
    """Import DeepEval, once; slow, so call it in a thread while the database starts.

    What was imported stays as long as the process does. The garbage collector leaves it alone: each full
    collection would stop every conversation for 0.2 s to look at it again.

    Raises:
        ConfigurationError: it is not installed.
    """
    try:
        with _hidden(_UNUSED):
            import deepeval  # seconds and 100 MB, only when a judged metric is selected
            import deepeval.metrics
            import deepeval.test_case
    except ImportError as error:
        raise ConfigurationError(
            f"A judged metric is selected and DeepEval cannot be imported: {error}.",
            f"Run: {install_command('judges')}",
        ) from error
    gc.freeze()
    return deepeval


@functools.cache
def deepeval_version() -> str:
    """Version of the installed DeepEval, read once and without importing it: reading its metadata takes 2 ms.

    Raises:
        ConfigurationError: it is not installed.
    """
    try:
        return metadata.version("deepeval")
    except metadata.PackageNotFoundError as error:
        raise ConfigurationError(
            "A judged metric is selected and DeepEval is not installed.",
            f"Run: {install_command('judges')}",
        ) from error
