"""Tables of the models' pages: the parameters of links, queues, congestion controls and profiles, with defaults."""

from __future__ import annotations

from . import table
from .scenario import DEFAULTS, Schema, at, literal, rows


def link(kind: str) -> str:
    """Returns the keys of a kind of link, except those of recordings and of queue managers."""
    defaults, links = DEFAULTS["links"][kind], at("links.*")
    own = branch(links, "kind", kind)
    schema, required = flat({**own, "properties": links["properties"] | own["properties"]})
    its_own = own["properties"].keys() - {"kind", "start"}
    entries = {key: entry for key, entry in schema.items() if key in defaults or key.split(".")[0] in its_own}
    entries |= {key: schema[key.removeprefix("up.")] for key in defaults if key.startswith("up.")}
    return rows(entries, required, defaults)


def keys(*names: str) -> str:
    """Returns some keys of a link, with the defaults of a wired one."""
    links = at("links.*")
    own = {name: entry for kind in links["oneOf"] for name, entry in kind["properties"].items()}
    schema, required = flat({**links, "properties": links["properties"] | own})
    return rows({name: schema[name] for name in names}, required, DEFAULTS["links"]["wired"])


def queue(management: str) -> str:
    """Returns the keys of `queue` for a manager."""
    entries = {"queue.limit": flat(at("links.*"))[0]["queue.limit"]}
    return rows(entries | of_kind(at("links.*.down"), "queue", "management", management), [])


def control(kind: str) -> str:
    """Returns the parameters of a congestion control."""
    return rows(of_kind(tcp(), "congestion", "kind", kind), ["congestion.kind"])


def profile(name: str) -> str:
    """Returns a profile's settings."""
    settings = DEFAULTS["profiles"][name]
    entries = {key: entry for key, entry in flat(tcp())[0].items() if key in settings}
    return rows(entries, [], settings, "in this profile")


def profiles() -> str:
    """Returns all profiles, side by side."""
    of = DEFAULTS["profiles"]
    keys = [key for key in flat(tcp())[0] if key in next(iter(of.values()))]
    head = ["key", *(f"[`{name}`](profile-{name}.md)" for name in of)]
    return table(head, [[f"`{key}`", *(literal(each[key]) for each in of.values())] for key in keys])


def tcp() -> Schema:
    """Returns the schema of a flow's `transport` of TCP."""
    return branch(at("flows.transport"), "kind", "tcp")


def branch(found: Schema, tag: str, kind: str) -> Schema:
    """Returns the schema of one kind of a table."""
    tagged: Schema = next(each for each in found["oneOf"] if each["properties"].get(tag, {}).get("const") == kind)
    return tagged


def of_kind(found: Schema, key: str, tag: str, kind: str) -> Schema:
    """Returns the keys of one kind of an inner table, as `table.key`: the one that tells the kind, and its own."""
    inner = next(each for each in found["properties"][key]["anyOf"] if "oneOf" in each)
    own = branch(inner, tag, kind)["properties"]
    return {f"{key}.{name}": inner["properties"][name] if name == tag else entry for name, entry in own.items()}


def flat(schema: Schema, before: str = "") -> tuple[Schema, list[str]]:
    """Returns properties by name, those of tables within as `table.key`, and the names of those that are required."""
    found, required = {}, [before + name for name in schema.get("required", [])]
    for name, entry in schema["properties"].items():
        if name in ("up", "down", "sender", "receiver", "gateway"):
            continue
        found[before + name] = entry
        for inner in (entry, entry.get("items", {}), *entry.get("anyOf", [])):
            if "properties" in inner:
                entries, needed = flat(inner, f"{before}{name}.")
                found |= entries
                required += needed
    return found, required
