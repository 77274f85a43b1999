"""Runs what a promptfoo configuration makes by code, once, while it is imported: only if a person asks for it.

Tests (``file://gen.py:create_tests``), variables (``file://price.js``), ``transformVars`` and a configuration that is a
module become data, as they are on the day of the import.
"""

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ratiba_action.authoring.imports import NotImportedError
from ratiba_action.authoring.source_folder import SourceFolder
from ratiba_action.util.validation import shorten

OPTION = "--run-code"
"""The option of the command that asks for it."""
CODE = (".py", ".js", ".cjs", ".mjs", ".ts", ".cts", ".mts")
"""Files that promptfoo runs."""
_SECONDS = 60
_MAX_CHARACTERS = 4 * 1024 * 1024
_MARK = "\x1e"
"""Begins the result, after what the code printed."""
_PYTHON = """
import asyncio, importlib.util, inspect, json, os, sys
asked, out = json.load(sys.stdin), sys.stdout
sys.stdout = sys.stderr
sys.path[:0] = [os.path.dirname(os.path.abspath(asked["path"]))]
spec = importlib.util.spec_from_file_location("imported_code", asked["path"])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
value = getattr(module, asked["name"])(*asked["args"])
value = asyncio.run(value) if inspect.isawaitable(value) else value
out.write("\\x1e" + json.dumps(value))
"""
_NODE = r"""
import { pathToFileURL } from 'node:url';
import { readFileSync } from 'node:fs';
console.log = console.info = console.debug = console.error;
const { path, name, code, names, args } = JSON.parse(readFileSync(0, 'utf8'));
let value;
if (code !== undefined) {
  value = new Function(...names, code.includes('\n') ? code : `return ${code}`)(...args);
} else {
  const found = await import(pathToFileURL(path).href);
  const all = found.default !== null && typeof found.default === 'object' ? { ...found.default, ...found } : found;
  const meant = name ? all[name] : found.default ?? found;
  value = typeof meant === 'function' ? meant(...args) : meant;
}
const asData = (key, item) => (typeof item === 'function' ? { function: String(item) } : item);
process.stdout.write('\u001e' + JSON.stringify((await value) ?? null, asData), () => process.exit(0));
"""


@dataclass(frozen=True, slots=True)
class ProjectCode:
    """Runs code of a repository, without the keys of the shell.

    Args:
        environment: of the programs.
        python: the interpreter.
    """

    environment: Mapping[str, str]
    python: str = "python3"
    kept: dict[str, Any] = field(default_factory=dict)

    def call(self, folder: SourceFolder, reference: str, usual: str, *args: Any) -> Any:
        """What a function of a file returns, or what its module exports.

        Args:
            reference: ``file://PATH`` or ``file://PATH:function``.
            usual: the function of a Python file that names none.

        Raises:
            NotImportedError: it failed; says why.
            SuiteError: the file cannot be read.
        """
        path, name = split_code(reference)
        folder.read(path)
        asked = {"path": str(folder.root / path), "name": name or usual, "args": args}
        if path.endswith(".py"):
            return self._run([self.python, "-c", _PYTHON], folder, path, asked)
        return self._run(["node", "--input-type=module", "--eval", _NODE], folder, path, {**asked, "name": name})

    def inline(self, folder: SourceFolder, code: str, names: Sequence[str], *args: Any) -> Any:
        """What an expression of JavaScript, or lines with a ``return``, makes of values with these names.

        Raises:
            NotImportedError: it failed; says why.
        """
        asked = {"code": code, "names": names, "args": args}
        return self._run(["node", "--input-type=module", "--eval", _NODE], folder, code, asked)

    def _run(self, command: Sequence[str], folder: SourceFolder, what: str, asked: Mapping[str, Any]) -> Any:
        given = json.dumps(asked)
        if given not in self.kept:
            self.kept[given] = self._result(command, folder, what, given)
        return self.kept[given]

    def _result(self, command: Sequence[str], folder: SourceFolder, what: str, given: str) -> Any:
        try:
            done = subprocess.run(
                command,
                input=given,
                cwd=folder.root,
                env=dict(self.environment),
                capture_output=True,
                encoding="utf-8",
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise NotImportedError(f"{shorten(what)} did not end in {_SECONDS} seconds") from None
        except UnicodeError:
            raise NotImportedError(f"{shorten(what)} printed what is not UTF-8") from None
        except OSError as error:
            raise NotImportedError(f"{command[0]} cannot be started: {error.strerror}; install it") from None
        _, mark, result = done.stdout.rpartition(_MARK)
        if done.returncode or not mark:
            printed = [
                line for line in done.stderr.splitlines() if line.strip() and not line.startswith((" ", "Node.js"))
            ]
            printed = [line for line in printed if "Error" in line] or printed or ["it ended before it answered"]
            raise NotImportedError(f"{shorten(what)} failed: {shorten(printed[-1])}")
        if len(result) > _MAX_CHARACTERS:
            raise NotImportedError(f"{shorten(what)} made more than {_MAX_CHARACTERS:,} characters")
        try:
            return json.loads(result)
        except (ValueError, RecursionError):
            raise NotImportedError(f"{shorten(what)} printed something after its result") from None


def split_code(reference: str) -> tuple[str, str]:
    """Path and function of ``file://PATH:function``."""
    path, _, name = reference.removeprefix("file://").removeprefix("./").partition(":")
    return path, name


def is_code(reference: str) -> bool:
    """Whether a reference names a file of code."""
    return "://" not in reference.removeprefix("file://") and split_code(reference)[0].endswith(CODE)
