"""How to install the gate with one of its extras, as messages and the set-up say it."""


def install_command(extra: str) -> str:
    """The command, from the repository at a commit: the name alone is registered on no package index.

    Args:
        extra: name of an extra in ``pyproject.toml``, or several with commas between them.
    """
    return f'pip install "ratiba-eval-gate[{extra}] @ git+https://github.com/OWNER/ratiba-eval-gate@COMMIT"'
