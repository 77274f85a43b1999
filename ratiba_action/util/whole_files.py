"""Writes files as a whole: a reader sees the old file or the new one."""

import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path


def write_whole_files(contents: Mapping[Path, bytes]) -> None:
    """Replace files, all of them or none; makes their folders.

    Raises:
        OSError: one cannot be written; its ``filename`` is the file's path. Those replaced before are put back.
    """
    with contextlib.ExitStack() as staged, contextlib.ExitStack() as undo:
        for path, new in [(path, _stage(path, content, staged)) for path, content in contents.items()]:
            with _naming(path):
                old = path.read_bytes() if len(contents) > 1 and path.exists() else None
                new.replace(path)
            undo.callback(path.unlink) if old is None else undo.callback(path.write_bytes, old)
        undo.pop_all()


def _stage(path: Path, content: bytes, staged: contextlib.ExitStack) -> Path:
    """Write beside the place; what is still there when the stack closes is removed."""
    with _naming(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
        staged.callback(Path(name).unlink, missing_ok=True)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        Path(name).chmod(0o644)
        return Path(name)


@contextlib.contextmanager
def _naming(path: Path) -> Iterator[None]:
    """An error names the file that was to be written, not the one beside it."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
