"""The parts of pages that are made of the code which they describe."""


def cell(text: str) -> str:
    """Returns text for a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def table(header: list[str], rows: list[list[str]]) -> str:
    """Returns a table in Markdown."""
    lines = [header, ["---"] * len(header), *[[cell(text) for text in row] for row in rows]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
