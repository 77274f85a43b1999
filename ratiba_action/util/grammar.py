"""Counts whose noun and verb agree with them."""


def part_of(part: int, whole: int, noun: str, one: str, several: str) -> str:
    """Such as ``1 of 3 conversations passes`` and ``0 of 1 conversation passes``.

    Args:
        part: that something is said of.
        whole: all that there are.
        noun: in the singular; its plural ends in s.
        one: what is said of a single one.
        several: what is said of none or several.
    """
    single = part == 1 or whole == 1
    return f"{part} of {whole} {noun}{'' if whole == 1 else 's'} {one if single else several}"
