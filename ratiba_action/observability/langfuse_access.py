"""Where a Langfuse server is, and the keys to a project on it."""

from dataclasses import dataclass, field

from ratiba_action.util.proxy import Proxy


@dataclass(frozen=True, slots=True)
class LangfuseAccess:
    """Host and keys of a project.

    Args:
        host: with its scheme, without a slash at its end.
        seconds: that everything sent at once may take together.
        proxy: on the way to the host; None where the process's own variables say it, or there is none.
    """

    host: str
    public_key: str = field(repr=False)
    secret_key: str = field(repr=False)
    seconds: float = 10.0
    proxy: Proxy | None = None
