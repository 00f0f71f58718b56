"""Parses a page into its elements with their attributes, and its text."""

from dataclasses import dataclass, field
from html.parser import HTMLParser


@dataclass
class Parsed(HTMLParser):
    elements: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    texts: list[tuple[tuple[str, ...], str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in ("meta", "link"):
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        self.texts.append((tuple(self._open), data))

    def values(self, attribute: str) -> list[str]:
        return [attributes[attribute] for _, attributes in self.elements if attribute in attributes]

    def named(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def text(self) -> str:
        """Return the visible text, without scripts and styles."""
        shown = (text for tags, text in self.texts if not {"script", "style"} & set(tags))
        return " ".join(" ".join(shown).split())


def parse(html: str) -> Parsed:
    parsed = Parsed()
    parsed.feed(html)
    return parsed
