"""How to get the optional packages of the gate."""


def how_to_install(extra: str) -> str:
    """What to do where a package of an extra is missing, as the end of a sentence.

    Args:
        extra: its name in ``pyproject.toml``.
    """
    return (
        f"install ratiba-eval-gate[{extra}], or in a container use the image with all packages: "
        "docker build --build-arg PACKAGES=full"
    )
