"""The pages of the reference, each made of the code that it describes."""

GENERATED = "<!-- Made by scripts/generate_reference.py; change the code that it reads, not this page. -->"


def cell(text: str) -> str:
    """Text for a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def table(header: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *[[cell(text) for text in row] for row in rows]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
