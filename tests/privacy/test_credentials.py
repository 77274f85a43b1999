"""Keys, tokens and passwords are known by their form, whoever they belong to, and go whole.

Lengths and prefixes are those of the issuers' documentation and of the tables of gitleaks, detect-secrets and GitHub's
secret scanning. No key stands here as a text: scanners would report it.
"""

import base64
import hashlib
import random
import re
import uuid
from string import ascii_letters, digits

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.privacy.credentials import find_credentials, mask_credentials
from ratiba_action.privacy.masking import Redactor

SIGNS = {"d": "0123456789", "h": "0123456789abcdef", "a": ascii_letters + digits, "w": ascii_letters + digits + "_-"}
SIGNS |= {"l": ascii_letters, "u": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "b": ascii_letters + digits + "+/"}
FORMS = {
    "OpenAI, project": "sk-proj-0{73w}T3BlbkFJ{74w}",
    "OpenAI, service account": "sk-svcacct-0{72w}",
    "OpenAI, of old": "sk-0{19a}T3BlbkFJ{20a}",
    "Anthropic": "sk-ant-api03-{93w}AA",
    "OpenRouter": "sk-or-v1-a0{62h}",
    "DeepSeek": "sk-0a{30h}",
    "Groq": "gsk_{52a}",
    "xAI": "xai-{80a}",
    "Perplexity": "pplx-{48a}",
    "Hugging Face": "hf_{34l}",
    "Replicate": "r8_{37a}",
    "LangSmith": "lsv2_pt_{32h}_{10h}",
    "Databricks": "dapi{32h}",
    "Langfuse": "sk-lf-1a{6h}-{4h}-{4h}-{4h}-{12h}",
    "GitHub, classic": "ghp_{36a}",
    "GitHub, of an app": "ghs_{36a}",
    "GitHub, fine-grained": "github_pat_{22a}_{59a}",
    "GitLab": "glpat-{20w}",
    "GitLab, routable": "glpat-{27w}.01.{9h}",
    "GitLab, of a workspace": "glwt-{20w}",
    "GitLab, of a feature flag": "glffct-{20w}",
    "GitLab, runner": "glrt-{20w}",
    "AWS": "AKIA{16u}",
    "AWS, of a session": "ASIA{16u}",
    "Google": "AIza{35w}",
    "Google, OAuth client": "GOCSPX-{28w}",
    "Google, OAuth": "ya29.{80w}",
    "Google, of a service account": "ya29.c.b0{80w}",
    "Firebase": "APA91b{134w}",
    "Azure, client": "{3a}8Q~{34a}",
    "Slack, bot": "xoxb-{11d}-{13d}-{24a}",
    "Slack, user": "xoxp-{11d}-{13d}-{13d}-{32h}",
    "Slack, app": "xapp-1-A{10u}-{13d}-{64h}",
    "Telegram": "{10d}:AA{33w}",
    "Stripe": "sk_live_{24a}",
    "Stripe, restricted": "rk_test_{99a}",
    "Stripe, webhook": "whsec_{32a}",
    "Square": "sq0atp-{22w}",
    "Flutterwave": "FLWSECK_TEST-{32h}-X",
    "SendGrid": "SG.{22w}.{43w}",
    "Mailgun": "key-{32h}",
    "Mailchimp": "{32h}-us21",
    "Twilio": "SK{32h}",
    "npm": "npm_{36a}",
    "PyPI": "pypi-AgEIcHlwaS5vcmc{80w}",
    "Docker": "dckr_pat_{27w}",
    "Shopify": "shpat_{32h}",
    "DigitalOcean": "dop_v1_{64h}",
    "Vault": "hvs.{95w}",
    "Doppler": "dp.sa.{43a}",
    "Sourcegraph": "sgp_{16h}_{40h}",
    "Adafruit": "aio_{28a}",
    "Dynatrace": "dt0c01.{24u}.{64u}",
    "Braintree": "access_token$production$0{15h}${32h}",
    "Grafana": "glsa_{32a}_{8h}",
    "Notion": "ntn_{11d}{35a}",
    "Linear": "lin_api_{40a}",
    "Postman": "PMAK-{24h}-{34h}",
    "Pinecone": "pcsk_{5a}_{63a}",
    "Voyage": "pa-{43w}",
    "Fireworks": "fw_{24a}",
    "Africa's Talking": "atsk_{64h}",
    "OpenAI, session": "sess-{40a}",
    "Together": "tgp_v1_{43w}",
    "Google, bound to an account": "AQ.Ab8RN6{44w}",
    "Weights & Biases": "wandb_v1_{40a}",
    "Azure": "{52a}JQQJ99{26a}",
    "Bedrock": "bedrock-api-key-{120b}",
    "PostHog": "phx_{43a}",
    "Resend": "re_{8a}_{24a}",
    "Bitbucket": "ATBB{32a}",
    "CircleCI": "CCIPAT_{22a}_{40h}",
    "Sonar": "sqp_{40h}",
    "Buildkite": "bkua_{40h}",
    "1Password": "ops_eyJ{250w}",
    "Fly": "fm2_{100b}",
    "HubSpot": "pat-na1-{8h}-{4h}-{4h}-{4h}-{12h}",
    "Contentful": "CFPAT-{43w}",
    "Artifactory": "AKCp{69a}",
    "Prefect": "pnu_{36a}",
    "Shippo": "shippo_live_{40h}",
    "Twitch": "oauth:{30h}",
    "Vercel": "vcp_{56a}",
    "Netlify": "nfp_{36a}",
    "Notion, of old": "secret_{43a}",
    "Airtable": "pat{14a}.{64h}",
    "Terraform": "{14a}.atlasv1.{67w}",
    "Mapbox": "sk.eyJ1{60a}.{22w}",
    "JWE": "eyJ{33w}.{40w}.{16w}.{60w}.{22w}",
    "JWT": "eyJ{33w}.eyJ{60w}.{43w}",
    "RSA": "-----BEGIN RSA PRIVATE KEY-----\n{64b}\n{64b}\n{64b}\n{10b}==\n-----END RSA PRIVATE KEY-----",
    "RSA, encrypted": (
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,{32h}\n\n{64b}\n{20b}\n"
        "-----END RSA PRIVATE KEY-----"
    ),
    "PKCS 8": "-----BEGIN PRIVATE KEY-----\n{64b}\n{64b}\n{32b}\n-----END PRIVATE KEY-----",
    "OpenSSH": "-----BEGIN OPENSSH PRIVATE KEY-----\n{70b}\n{70b}\n{70b}\n-----END OPENSSH PRIVATE KEY-----",
    "RSA, in a quotation": (
        "-----BEGIN RSA PRIVATE KEY-----\n> {64b}\n> {64b}\n> {64b}\n> -----END RSA PRIVATE KEY-----"
    ),
    "PKCS 8, in a block of YAML": (
        "-----BEGIN PRIVATE KEY-----\n          {64b}\n          {64b}\n          -----END PRIVATE KEY-----"
    ),
    "PKCS 8, in a patch": "-----BEGIN PRIVATE KEY-----\n+{64b}\n+{64b}\n+-----END PRIVATE KEY-----",
    "SSH 2": (
        '---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: "x"\n{64b}\n{64b}\n'
        "---- END SSH2 ENCRYPTED PRIVATE KEY ----"
    ),
    "JWT, on several lines": "eyJ{33w}\n{9w}.eyJ\n{40w}\n{20w}.{12w}\n{31w}",
    "JWT, a part on each line": "eyJ{33w}.\neyJ{60w}.\n{43w}",
    "PGP": "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{64b}\n{30b}\n={4b}\n-----END PGP PRIVATE KEY BLOCK-----",
}
"""How an issuer writes its keys: ``{36a}`` stands for 36 letters and digits, and so on for the other ``SIGNS``."""


def key_of(form: str, seed: int) -> str:
    signs = random.Random(seed)  # noqa: S311 - no secret
    return re.sub(r"\{(\d+)([a-z])\}", lambda part: "".join(signs.choices(SIGNS[part[2]], k=int(part[1]))), form)


BEFORE = st.sampled_from(
    ["", "the key is ", "key=", '{"key":"', "(", "`", "https://x.example/?k=", "KES 100 ", "é ", "\n"]
)
AFTER = st.sampled_from(["", ".", " thanks", '"}', ")", "`", "\n0712345432", " é"])


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_key_of_each_issuer_is_known(form: str) -> None:
    for seed in range(20):
        key = key_of(form, seed)
        assert find_credentials(key), key
        assert mask_credentials(f"it is {key} and") == "it is *** and"


@given(st.builds(key_of, st.sampled_from([*FORMS.values()]), st.integers(0)), BEFORE, AFTER)
def test_a_key_of_anybody_goes_whole_before_its_digits_are_read(key: str, before: str, after: str) -> None:
    assert mask_credentials(f"{before}{key}{after}") == f"{before}***{after}"
    masked = Redactor().text(f"{before}{key}{after}")
    assert masked.startswith(f"{before}***")
    assert "+254***" not in masked.removesuffix("+254***432")
    assert mask_credentials(masked) == masked


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("postgresql://gate:hunter2@db:5432/gate", "postgresql://gate:***@db:5432/gate"),
        ("host=db password=hunter2 port=1", "host=db password=*** port=1"),
        ("Authorization: Bearer abc123def456", "Authorization: Bearer ***"),
        ("Authorization: Basic Ym9iOmh1bnRlcjI=", "Authorization: Basic ***"),
        ("export DB_PASSWORD='tembo42simba'", "export DB_PASSWORD='***'"),
        ("AWS_SECRET_ACCESS_KEY=wJalr0712345432/bPxRfiCY", "AWS_SECRET_ACCESS_KEY=***"),
        ('{"client_secret": "8Zq4-0712345432-abcd"}', '{"client_secret": "***"}'),
        ("AccountKey=" + "a1B2" * 21 + "aa==;EndpointSuffix=x", "AccountKey=***;EndpointSuffix=x"),
        ("https://x.blob.example/c?se=2026&sig=" + "a%2F1" * 12, "https://x.blob.example/c?se=2026&sig=***"),
        (
            "https://hooks.slack.com/services/" + "T01234567/B01234567/" + "a1" * 12,
            "https://hooks.slack.com/services/***",
        ),
        ("curl -u AC" + "0a" * 16 + ":" + "1b" * 16 + " x", "curl -u AC" + "0a" * 16 + ":*** x"),
        ("AC" + "0a" * 16 + "\n" + "1b" * 16 + " x", "AC" + "0a" * 16 + "\n*** x"),
        ("postgres://u:p@ss@db.example/x", "postgres://u:***@db.example/x"),
        ("mysql://u:p%40ss@db/x and redis://:p@s/s@r:1/0", "mysql://u:***@db/x and redis://:***@r:1/0"),
        ("postgres://u:p1@a/x,postgres://u:p2@b/x", "postgres://u:***@a/x,postgres://u:***@b/x"),
        ("host=db password='tembo 42 simba' port=1", "host=db password='***' port=1"),
        ("curl -s -u admin:tembo42 https://x.example", "curl -s -u admin:*** https://x.example"),
        ("machine api.x.example login bob password tembo42 # x", "machine api.x.example login bob password *** # x"),
        ('{"auths": {"x": {"auth": "Ym9iOmh1bnRlcjI="}}}', '{"auths": {"x": {"auth": "***"}}}'),
        ("ALGOLIA_ADMIN_KEY=" + "1b" * 16, "ALGOLIA_ADMIN_KEY=***"),
        ("Your secret access key is `wJalr0712345432/bPxRfiCY1`.", "Your secret access key is `***`."),
        ("**API key** is: " + "1b" * 16 + ", keep it", "**API key** is: ***, keep it"),
        (
            "PuTTY\nPrivate-Lines: 2\n" + "a1B2" * 16 + "\na1B2==\nPrivate-MAC: 1",
            "PuTTY\nPrivate-Lines: 2***\nPrivate-MAC: 1",
        ),
        ("aws_session_token = " + "aB1/" * 40, "aws_session_token = ***"),
        ("RAILWAY_TOKEN=" + str(uuid.UUID(int=3**70)), "RAILWAY_TOKEN=***"),
        ("Ocp-Apim-Subscription-Key: " + "1b" * 16, "Ocp-Apim-Subscription-Key: ***"),
        ("X-Vault-Token: s." + "a1B2" * 6, "X-Vault-Token: ***"),
        ("passkey: " + "1b" * 32, "passkey: ***"),
        ("Authorization: ApiKey " + "aB1+" * 10 + "==", "Authorization: ApiKey ***"),
        (
            "https://x.webhook.office.com/webhookb2/" + "1b" * 18 + "/IncomingWebhook/" + "1b" * 16,
            "https://x.webhook.office.com/webhookb2/***",
        ),
        ("https://discord.com/api/webhooks/" + "1" * 18 + "/" + "a-1" * 22, "https://discord.com/api/webhooks/***"),
    ],
)
def test_of_what_stands_around_a_secret_everything_stays(text: str, masked: str) -> None:
    assert mask_credentials(text) == Redactor().secretless(text) == masked


@pytest.mark.parametrize("form", [form for form in FORMS.values() if "\n" not in form])
@pytest.mark.parametrize("around", ["_", "__", "*", "**"])
def test_emphasis_of_markdown_hides_no_key(form: str, around: str) -> None:
    key = key_of(form, 1)
    masked = mask_credentials(f"it is {around}{key}{around} and")
    assert masked in (f"it is {around}***{around} and", f"it is {around}*** and")


@pytest.mark.parametrize("hidden", ["{a}\u200b{b}", "{a}\\u0030{b}", "{a}%30{b}", "{a}\uff10{b}"])
def test_an_invisible_or_escaped_sign_hides_no_key(hidden: str) -> None:
    key = hidden.format(a="ghp_" + "a1" * 10, b="b2" * 10)
    assert mask_credentials(f"it is {key}!") == "it is ***!"


def test_a_private_key_inside_json_goes_whole() -> None:
    body = "\\n".join(["a1B2" * 16] * 3)
    text = f'{{"pem": "-----BEGIN PRIVATE KEY-----\\n{body}\\n-----END PRIVATE KEY-----\\n", "n": 1}}'
    assert mask_credentials(text) == '{"pem": "***\\n", "n": 1}'


@pytest.mark.parametrize("prefix", ["sk-proj-", "sk-svcacct-", "pk-lf-"])
def test_a_key_without_digits_is_reported_by_its_prefix_and_both_cases(prefix: str) -> None:
    assert mask_credentials(f"Your key is {prefix}{'aBcDeFgHiJ' * 4}.") == "Your key is ***."
    assert find_credentials(f"{prefix}your-key-goes-in-here-please") == ()


_RANDOM = random.Random(40)  # noqa: S311 - texts of a test
NO_KEYS = [
    "Task-management and risk-assessment-of-long-projects, sk-learn-compatible-estimators, desk-top-publishing-2",
    "The bearer of good news; password: the word. Sitawahi kuomba PIN wala password yako",
    "https://example.com/pay?id=3&token=1#api_key",
    "next_page_token: 12, max_tokens=300, token: the word, sub_re_ and pat-na1-beta, AC/DC: AC12:30, MAX_TOKEN=4096",
    "Authorization: Basic authentication is not offered; authorization: basic rights",
    "msg_5b74ad4f7bd0ba59e4e54a64 chatcmpl-ca46291da3a46090db295b6d toolu_987654321 call_12345678",
    "The secret = to listen. Monkey-business at key-largo; a passkey; api_key: your-key-here; password=<password>",
    "password=os.environ['PASSWORD'], api_key=get_key(3), secret={name}, pwd=$PWD",
    "The API key is in the settings; your access token is valid for 30 days; the secret key is well-known-since-1999",
    "docker run -u 1000:1000 x; machine learning: login page, password reset; the auth: header",
    "https://x.example:443/a/@b/c postgresql://user@db/x http://localhost:8080/@x",
    *(hashlib.sha1(bytes([number])).hexdigest() for number in range(40)),  # noqa: S324 - as git's ids are
    *(hashlib.sha256(bytes([number])).hexdigest() for number in range(40)),
    *(f"sha256:{hashlib.sha256(bytes([number])).hexdigest()}" for number in range(40)),
    *(str(uuid.UUID(int=_RANDOM.getrandbits(128))) for _ in range(40)),
    *(f"data:image/png;base64,{base64.b64encode(_RANDOM.randbytes(20_000)).decode()}" for _ in range(5)),
    *(base64.urlsafe_b64encode(_RANDOM.randbytes(20_000)).decode() for _ in range(5)),
    "scenarios/recordings/spa_booking_swahili_happy.jsonl ratiba-eval-gate BookingSlotConsistencyMetric:0.1.0",
    "claude-haiku-4-5-20251001 gpt-5-mini-2025-08-07 text-embedding-3-small",
    "TKL4X8Q2ZP BK-100234 KES 2,500 0712 345 432 2026-04-25T10:00:00+03:00 amina@example.com",
]


@pytest.mark.parametrize("text", NO_KEYS, ids=lambda text: text[:24])
def test_what_only_looks_random_is_no_key(text: str) -> None:
    assert find_credentials(text) == ()
    assert mask_credentials(text) == text


@given(st.text())
def test_any_text_can_be_masked_and_masking_again_changes_nothing(text: str) -> None:
    once = mask_credentials(text)
    assert mask_credentials(once) == once
