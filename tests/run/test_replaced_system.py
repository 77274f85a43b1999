"""Settings of a change that name another system than the base's."""

import pytest

from ratiba_action.config.system_block import SystemBlock
from ratiba_action.run.replaced_system import replaced_system


def block(**environment: str) -> SystemBlock:
    return SystemBlock.model_validate({"command": ["bash", "bot.sh"], "environment": environment})


def named(**environment: str) -> tuple[str, ...]:
    return replaced_system(block(**environment), block(), lambda _: ("", ""))


@pytest.mark.parametrize(
    "name",
    [
        *("PYTHONPATH", "PYTHONSTARTUP", "NODE_OPTIONS", "RUBYOPT", "PERL5LIB", "PERLLIB", "CLASSPATH", "PHPRC"),
        *("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "DOTNET_STARTUP_HOOKS", "LUA_INIT_5_4", "BASH_ENV"),
    ],
)
def test_a_variable_that_decides_which_code_is_loaded_names_another_system(name: str) -> None:
    (phrase,) = named(**{name: "stub.sh"})
    assert phrase.startswith(f"system.environment.{name} is")


@pytest.mark.parametrize("name", ["ENV", "LANGUAGE", "JAVA_HOME_NOTE", "BASH_ENVIRONMENT", "NODE_ENV"])
def test_any_other_variable_does_not(name: str) -> None:
    assert named(**{name: "production"}) == ()
