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
        *("DOTNET_STARTUP_HOOKS", "CORECLR_PROFILER_PATH", "MAVEN_OPTS", "JAVA_OPTS", "SHELLOPTS", "PS4", "FPATH"),
        *("ERL_FLAGS", "R_PROFILE_USER", "OPENSSL_CONF", "npm_config_node_options", "UV_PROJECT", "FLASK_APP"),
    ],
)
def test_a_variable_that_decides_which_code_is_loaded_names_another_system(name: str) -> None:
    (phrase,) = named(**{name: "stub"})
    assert phrase.startswith(f"system.environment.{name} is")


@pytest.mark.parametrize(
    "value",
    ["stub.sh", "--require ./stub.cjs", "lib/stub.so:lib/other", "a.stub.PY", "python 'stub.py'", "stub.js|tee log"],
)
def test_a_variable_that_names_a_file_of_code_names_another_system(value: str) -> None:
    (phrase,) = named(ANY_OTHER=value)
    assert phrase.startswith("system.environment.ANY_OTHER is")


@pytest.mark.parametrize("name", ["ENV", "LANGUAGE", "JAVA_HOME_NOTE", "BASH_ENVIRONMENT", "NODE_ENV"])
def test_any_other_variable_does_not(name: str) -> None:
    assert named(**{name: "production"}) == ()


@pytest.mark.parametrize("value", ["claude-sonnet-4.5", "prompts/spa.md", "0.2", "config/limits.yaml", "a.python"])
def test_any_other_value_does_not(value: str) -> None:
    assert named(MODEL=value) == ()


@pytest.mark.parametrize(
    ("container", "is_another"),
    [
        ({"port": 80, "ready": "/health", "seconds": 5}, False),
        ({"port": 80, "dockerfile": "stub/Dockerfile"}, True),
        ({"port": 80, "build": "stub"}, True),
        ({"port": 80, "image": f"stub@sha256:{'0' * 64}"}, True),
    ],
)
def test_another_way_to_an_image_names_another_system(
    container: dict[str, object],
    is_another: bool,  # noqa: FBT001 - a parameter of pytest
) -> None:
    http = {"url": "http://127.0.0.1:{port}/", "reply": {"text": "text"}}
    base, head = (SystemBlock.model_validate({"http": http, "container": each}) for each in ({"port": 80}, container))
    assert any("container" in phrase for phrase in replaced_system(head, base, lambda _: ("", ""))) is is_another


def test_of_a_long_block_only_the_key_that_differs_is_named() -> None:
    def served(reply: str, **body: object) -> SystemBlock:
        http = {"url": "http://127.0.0.1:8000/chat", "body": {"text": "${message}", **body}, "reply": {"text": reply}}
        return SystemBlock.model_validate({"http": http})

    def phrases(head: SystemBlock, base: SystemBlock) -> tuple[str, ...]:
        return replaced_system(head, base, lambda _: ("", ""))

    assert phrases(served("answer"), served("text")) == ("system.http.reply.text is 'answer' (base: 'text')",)
    assert phrases(served("text", extra=None), served("text")) == ("system.http.body.extra is not set (base: not set)",)
    (phrase,) = phrases(served("a." + "b" * 300 + ".c"), served("a." + "b" * 300 + ".d"))
    assert phrase.endswith(".c' (base: …'bbbbbbbbbbbbbbbbbbbbbbbbbbbbb.d')")
