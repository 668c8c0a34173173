"""The JSON Schemas that `batond schema` prints: every configuration that we show is valid, wrong ones are not."""

import copy
import json
import os
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator, FormatChecker

from baton.toml import loads

ROOT = Path(__file__).resolve().parent.parent
BATOND = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "batond"
HOW_TO, PAGE = ROOT / "docs" / "how-to" / "keep-a-vehicle-connected.md", ROOT / "docs" / "batond.md"
EXAMPLES = ROOT / "packaging" / "examples"
# RFC 7748 section 6.1, in base64.
PUBLIC_KEY = "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo="
PLACEHOLDER = re.compile(r'"the [\w\' ]+ public key"')

pytestmark = pytest.mark.skipif(not BATOND.exists(), reason="`make batond` makes the daemon")


def blocks(page: Path) -> list[str]:
    """The TOML blocks of a page."""
    return re.findall(r"^```toml\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


SHOWN = {
    **{file.name: file.read_text(encoding="utf-8") for file in EXAMPLES.glob("*.toml")},
    **{f"{page.name} {number}": text for page in (HOW_TO, PAGE) for number, text in enumerate(blocks(page))},
}


@cache
def validator(role: str) -> Draft202012Validator:
    """A validator of others for a role's configuration."""
    printed = subprocess.run([BATOND, "schema", role], capture_output=True, text=True, check=True).stdout
    schema = json.loads(printed)
    Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"urn:baton:{role}:1"
    return Draft202012Validator(schema, format_checker=FormatChecker(["ipv6"]))


def role_of(config: dict) -> str:
    """The role whose keys a configuration has."""
    roles = {"uplinks": "mobile-router", "routers": "home-agent", "peer": "gateway"}
    return next((role for key, role in roles.items() if key in config), "node")


def with_keys(text: str) -> str:
    """A configuration in which keys stand where the operator is to write them."""
    return PLACEHOLDER.sub(f'"{PUBLIC_KEY}"', text)


def whole(text: str, folder: Path) -> str:
    """The example of a router with the tables that a part of one shows; other configurations as they are."""
    shown = loads(text)
    if not set(shown) <= {"home_agent", "forecast"}:
        return text
    example = (EXAMPLES / "mobile-router.toml").read_text(encoding="utf-8")
    others = [line for line in example.splitlines() if line.split(" = ")[0] not in shown]
    if "unencrypted" in shown.get("home_agent", {}):
        others = [line for line in others if not line.startswith("private_key")]
    (folder / "coverage.csv").write_text("latitude,longitude,wlan0,wwan0\n50.1,8.7,1,0\n")
    return "\n".join([*others, text.replace("/etc/baton/coverage.csv", f"{folder}/coverage.csv")])


@pytest.mark.parametrize("name", sorted(SHOWN))
def test_what_is_shown_is_valid_to_the_schema_and_to_the_daemon(name, tmp_path):
    text = with_keys(whole(SHOWN[name], tmp_path))
    config = loads(text)
    assert list(validator(role_of(config)).iter_errors(config)) == []
    file = tmp_path / "config.toml"
    file.write_text(text)
    checked = subprocess.run([BATOND, "check", file], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_every_role_is_shown():
    complete = [text for text in SHOWN.values() if any(key in text for key in ("home_address", "routers", "peer"))]
    assert {role_of(loads(text)) for text in complete} == {"mobile-router", "home-agent", "gateway", "node"}


@pytest.mark.parametrize("role", ["mobile-router", "home-agent"])
def test_the_how_to_shows_the_packaged_examples(role):
    assert (EXAMPLES / f"{role}.toml").read_text(encoding="utf-8") in blocks(HOW_TO)


@pytest.mark.parametrize("role", ["mobile-router", "home-agent", "gateway"])
def test_an_example_without_the_keys_of_its_operator_is_refused(role):
    file = EXAMPLES / f"{role}.toml"
    assert not validator(role).is_valid(loads(file.read_text(encoding="utf-8")))
    checked = subprocess.run([BATOND, "check", file], capture_output=True, text=True, check=False)
    assert checked.returncode == 2
    assert "expected a public key" in checked.stderr


@pytest.mark.parametrize(
    ("role", "path", "wrong"),
    [
        ("mobile-router", "home_address", "2001:db8::g"),
        ("mobile-router", "home_prefix", "10.0.0.0/8"),
        ("mobile-router", "networks", ["10.7.0.0"]),
        ("mobile-router", "home_agent.endpoint", "198.51.100.1"),
        ("mobile-router", "home_agent.public_key", PUBLIC_KEY[:-2]),
        ("mobile-router", "home_agent.port", 4191),
        ("mobile-router", "uplinks.hold_time", "5 seconds"),
        ("mobile-router", "uplinks.hold_time", 5),
        ("mobile-router", "device", "a name that is too long"),
        ("mobile-router", "routers", []),
        ("home-agent", "listen", ["0.0.0.0"]),
        ("home-agent", "longest_lifetime", "-4 s"),
        ("home-agent", "routers", "all"),
        ("gateway", "peer.public_key", PUBLIC_KEY[:-2]),
        ("gateway", "networks", ["10.9.0.0"]),
        ("gateway", "networks", "10.9.0.0/16"),
        ("gateway", "links", [{"name": "satellite", "endpoint": "198.51.100.1"}]),
        ("gateway", "links", [{"name": "satellite", "endpoint": "198.51.100.1:4191", "rate": "2 Mbps"}]),
        ("gateway", "rules", [{"mode": "sure"}]),
        ("gateway", "rules", [{"class": 8}]),
        ("gateway", "rules", [{"port": 0}]),
    ],
)
def test_a_wrong_value_is_invalid_to_the_schema_and_to_the_daemon(role, path, wrong, tmp_path):
    text = with_keys((EXAMPLES / f"{role}.toml").read_text(encoding="utf-8"))
    right = loads(text)
    config = copy.deepcopy(right)
    *tables, key = path.split(".")
    table = config
    for name in tables:
        table = table[name]
    table[key] = wrong
    assert validator(role).is_valid(right)
    assert not validator(role).is_valid(config)
    # JSON's values of these kinds are TOML's, too.
    file = tmp_path / "config.toml"
    file.write_text("".join(f"{key} = {inline(value)}\n" for key, value in config.items()))
    checked = subprocess.run([BATOND, role, file], capture_output=True, text=True, check=False, timeout=20)
    assert checked.returncode == 2, checked.stderr


def inline(value: object) -> str:
    """A value as TOML on one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {inline(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(inline, value)) + "]"
    return json.dumps(value)
