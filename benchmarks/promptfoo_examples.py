"""Small promptfoo repositories in the shapes of its documentation.

All of them are this project's own. Each test is described as ``t0001`` and so on, a number that only it has in its
example. ``SERVER`` stands for the address of the stand-in, whose models reply ``NAME OF THE MODEL: last message``.
"""

from collections.abc import Mapping

Files = Mapping[str, str]
SERVER = "SERVER"

_STARTED = """
description: Translations
prompts:
  - 'Translate to {{language}}: {{input}}'
  - |
    You translate for travellers.
    Say in {{language}}: {{input}}
providers: [openai:gpt-4.1-mini, openai:gpt-4.1]
defaultTest:
  assert:
    - {type: not-icontains, value: as an AI}
    - {type: latency, threshold: 60000}
tests:
  - description: t0001 French
    vars: {language: French, input: Hello world}
    assert:
      - {type: contains, value: Hello}
      - {type: javascript, value: output.length > 10}
  - description: t0002 only one of the models
    vars: {language: Swahili, input: Good morning}
    assert:
      - {type: icontains, value: 'gpt-4.1-mini:'}
      - {type: contains-any, value: [morning, evening]}
  - description: t0003 only one of the prompts
    vars: {language: German, input: Where is the station?}
    assert: [{type: icontains, value: travellers}]
  - description: t0004 nobody
    vars: {language: Spanish, input: Thank you}
    assert: [{type: equals, value: Gracias}]
"""

_FILES = """
prompts: [file://prompts.txt, file://prompts/*.md]
providers:
  - id: openai:chat:gpt-4.1-mini
    label: small
    config: {temperature: 0.2, max_tokens: 100}
tests: file://tests.csv
defaultTest:
  vars: {shop: Duka}
  assert: [{type: icontains, value: '{{shop}}'}]
"""
_FILES_TXT = "Shop {{shop}}. Answer briefly: {{question}}\n---\nYou work for {{ shop | upper }}.\n{{question}}\n"
_FILES_CSV = """__description,question,__expected1,__expected2
t0001,Are you open?,icontains: open,
t0002,Do you sell bread?,contains-all: bread;sell,
t0003,Do you sell cake?,not-contains: cake,
t0004,Price of milk,regex: mi[lk]+,javascript: output.split(' ').length < 30
"""

_CHAT = """
prompts: [file://chat.json, file://chat.yaml]
providers:
  - openai:gpt-4.1-mini
  - {id: 'anthropic:messages:claude-haiku-4-5', label: haiku}
defaultTest: {vars: {city: Nairobi}}
tests:
  - description: t0001 quoted
    vars: {question: 'She said "karibu"', notes: [a, b]}
    assert: [{type: icontains, value: karibu}]
  - description: t0002 one of the models
    vars: {question: Who are you?}
    assert: [{type: starts-with, value: claude}]
  - description: t0003 vars of a file
    vars: vars/hotel.yaml
    assert: [{type: contains, value: 'Sarova'}, {type: not-contains, value: Mombasa}]
"""
_CHAT_JSON = """[
  {"role": "system", "content": "You guide people through {{ city }}."},
  {"role": "user", "content": {{ question | dump }}}
]
"""
_CHAT_YAML = """- role: system
  content: Short answers.
- role: user
  content: "{{ question }} ({{ city }})"
"""

_CODE = """
prompts: ['About {{topic}}: {{question}}']
providers:
  - {id: 'file://bot.py', label: bot, config: {tone: kind}}
  - {id: 'file://bot.js', label: node, config: {tone: short}}
defaultTest:
  options: {transform: output.trim()}
tests:
  - description: t0001 vars
    vars: {topic: bread, question: Is it fresh?}
    assert: [{type: contains, value: bread}, {type: is-json, transform: 'JSON.stringify({output})'}]
  - description: t0002 one provider
    vars: {topic: milk, question: Is it cold?}
    assert: [{type: starts-with, value: kind}]
  - description: t0003 a threshold
    vars: {topic: tea, question: Is it hot?}
    threshold: 0.5
    assert:
      - {type: contains, value: tea, weight: 2, metric: topic}
      - {type: contains, value: coffee, metric: topic}
"""
_BOT_PY = """def call_api(prompt, options, context):
    return {"output": f"  {options['config']['tone']} | {context['vars']['topic']} | {prompt}  "}
"""
_BOT_JS = """module.exports = class {
  constructor(options) { this.config = options.config; }
  id() { return 'node'; }
  async callApi(prompt, context) { return { output: `${this.config.tone} | ${prompt}\\n` }; }
};
"""

_MODEL_CODE = """
prompts: ['{{question}}']
providers: ['python:ask.py']
tests:
  - {description: t0001, vars: {question: Are you there?}, assert: [{type: icontains, value: there}]}
  - {description: t0002, vars: {question: Are you here?}, assert: [{type: equals, value: no}]}
"""
_ASK_PY = """import json
import os
import urllib.request


def call_api(prompt, options, context):
    body = {"model": "gpt-4.1-mini", "max_tokens": 50, "messages": [{"role": "user", "content": prompt}]}
    headers = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"}
    address = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    request = urllib.request.Request(address, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return {"output": json.load(answer)["choices"][0]["message"]["content"]}
"""

_HTTP = """
prompts: ['{{message}}']
providers:
  - id: SERVER/chat
    label: shop
    config:
      method: POST
      headers: {Content-Type: application/json}
      body: {message: '{{prompt}}', place: '{{place}}'}
      transformResponse: json.reply
tests:
  - description: t0001
    vars: {message: Habari, place: Nakuru}
    assert: [{type: contains, value: Habari}, {type: contains, value: Nakuru}]
  - description: t0002
    vars: {message: 'It costs "10"', place: Kisumu}
    assert: [{type: contains, value: '10'}, {type: javascript, value: 'output.includes(context.vars.message)'}]
"""

_EXEC = """
prompts: [file://make_prompt.py:question, file://make_prompt.js]
providers: ['exec: python3 answer.py']
tests:
  - description: t0001
    vars: {name: Amina}
    assert: [{type: icontains, value: amina}, {type: word-count, value: {min: 2}}]
  - description: t0002
    vars: {name: Otieno}
    assert: [{type: contains, value: Otieno}, {type: starts-with, value: Answer}]
"""
_MAKE_PY = "def question(context):\n    return [{'role': 'user', 'content': 'Greet ' + context['vars']['name']}]\n"
_MAKE_JS = "module.exports = async ({ vars }) => `Greet ${vars.name} from node`;\n"
_ANSWER_PY = "import sys\n\nprint('Answer to', sys.argv[1].strip())\n"

_ASSERTS = """
prompts: ['{{reply}}']
providers: [{id: echo, label: the echo}]
assertionTemplates: &templates
  greets: {type: icontains-any, value: [hello, habari]}
defaultTest:
  metadata: {suite: asserts}
  assert: [{type: javascript, value: 'output.length < 1000', metric: Length}]
tests:
  - description: t0001
    vars: {reply: '{"total": 12, "items": ["tea", "bread"]}'}
    assert:
      - type: is-json
        value: {type: object, required: [total], properties: {total: {type: number}}}
      - {type: javascript, value: 'JSON.parse(output).total === 12'}
      - {type: python, value: "json.loads(output)['total'] == 12"}
      - {type: contains-json}
      - {type: not-is-xml}
  - description: t0002
    vars: {reply: Hello there}
    assert:
      - {$ref: '#/assertionTemplates/greets'}
      - {type: levenshtein, threshold: 5, value: Hello where}
      - {type: rouge-n, threshold: 0.3, value: Hello there friend}
      - {type: not-contains-all, value: 'there, friend'}
      - {type: cost, threshold: 1}
  - description: t0003
    vars: {reply: Only one of both}
    assert:
      - type: assert-set
        threshold: 0.5
        metric: Words
        assert: [{type: contains, value: one}, {type: contains, value: two}]
      - {type: javascript, value: 'file://check.js', config: {least: 4}}
      - {type: python, value: 'file://check.py', weight: 0}
  - description: t0004
    vars: {reply: '<a><b>1</b></a>'}
    assert: [{type: is-xml}, {type: contains-xml, value: {requiredElements: [a.b]}}, {type: is-html}]
  - description: t0005
    vars: {reply: 'never'}
    assert: [{type: javascript, value: 'return {pass: false, score: 0, reason: "no"};'}]
  - description: t0006
    vars: {reply: [one, two, three], unused: true}
    options: {transform: output.toUpperCase()}
    assert: [{type: equals, value: TWO}]
"""
_CHECK_JS = "module.exports = (output, context) => output.split(' ').length >= context.config.least;\n"
_CHECK_PY = "def get_assert(output, context):\n    return {'pass': False, 'score': 0.1, 'reason': 'weighs nothing'}\n"

_CHOSEN = """
prompts:
  - {id: plain, label: plain, raw: 'Say {{word}}'}
  - {id: loud, label: 'shout:loud', raw: 'Shout {{word}}'}
providers:
  - {id: openai:gpt-4.1-mini, label: small}
  - {id: openai:gpt-4.1, label: big, prompts: [plain]}
tests:
  - {description: t0001, vars: {word: hodi}, prompts: [shout], assert: [{type: contains, value: Shout}]}
  - {description: t0002, vars: {word: hodi}, providers: [big], assert: [{type: contains, value: 'gpt-4.1:'}]}
  - {description: t0003, vars: {word: hodi}, assert: [{type: contains, value: Say}]}
"""

_SCENARIOS = """
prompts:
  - "{% for each in items %}{{ loop.index }}. {{ each.name }}\
    {% if not loop.last %}, {% endif %}{% endfor %} in {{lang}}"
providers: [openai:gpt-4.1-mini]
scenarios:
  - config:
      - {vars: {lang: en, greeting: hello}}
      - {vars: {lang: sw, greeting: habari}}
    tests:
      - description: t0001
        vars: {items: [{name: tea}, {name: milk}]}
        assert: [{type: contains, value: '1. tea, 2. milk in {{lang}}'}]
      - description: t0002
        vars: {items: [{name: rice}]}
        assert: [{type: contains, value: in sw}]
tests:
  - description: t0003
    vars: {lang: fr, items: [{name: pain}]}
    assert: [{type: contains, value: in fr}]
"""

_TALK = """
prompts: [file://talk.json]
providers: [openai:gpt-4.1-mini]
tests:
  - description: t0001
    vars: {question: My name is Wanjiku}
    metadata: {conversationId: a}
    assert: [{type: icontains, value: Wanjiku}]
  - description: t0001
    vars: {question: What is my name?}
    metadata: {conversationId: a}
    assert: [{type: icontains, value: my name}]
"""
_TALK_JSON = """[
  {% for completion in _conversation %}
  {"role": "user", "content": "{{ completion.input }}"},
  {"role": "assistant", "content": "{{ completion.output }}"},
  {% endfor %}
  {"role": "user", "content": "{{ question }}"}
]
"""

EXAMPLES: Mapping[str, Files] = {
    "getting_started": {"promptfooconfig.yaml": _STARTED},
    "files": {
        "promptfooconfig.yaml": _FILES,
        "prompts.txt": _FILES_TXT,
        "prompts/polite.md": "# {{shop}}\nBe polite. {{question}}\n",
        "tests.csv": _FILES_CSV,
    },
    "chat": {
        "promptfooconfig.yaml": _CHAT,
        "chat.json": _CHAT_JSON,
        "chat.yaml": _CHAT_YAML,
        "vars/hotel.yaml": "question: Where is the Sarova?\n",
    },
    "code": {"promptfooconfig.yaml": _CODE, "bot.py": _BOT_PY, "bot.js": _BOT_JS},
    "model_in_code": {"promptfooconfig.yaml": _MODEL_CODE, "ask.py": _ASK_PY},
    "http": {"promptfooconfig.yaml": _HTTP},
    "exec": {
        "promptfooconfig.yaml": _EXEC,
        "make_prompt.py": _MAKE_PY,
        "make_prompt.js": _MAKE_JS,
        "answer.py": _ANSWER_PY,
    },
    "asserts": {"promptfooconfig.yaml": _ASSERTS, "check.js": _CHECK_JS, "check.py": _CHECK_PY},
    "chosen": {"promptfooconfig.yaml": _CHOSEN},
    "scenarios": {"promptfooconfig.yaml": _SCENARIOS},
    "talk": {"promptfooconfig.yaml": _TALK, "talk.json": _TALK_JSON},
}
"""Files by path, by the name of the example."""
