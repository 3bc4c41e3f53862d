"""What `make words` finds in files that are no Python: extractors for Babel, named in `babel.cfg`.

English is the message. `page_words.py` says what becomes of the keys of a page.
"""

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

from service.translations.page_words import counted_name, forms_of

Extracted = tuple[int, str, Any, list[str]]
"""Line, function of gettext, its arguments, comments: what Babel expects of an extractor."""


def extract_page_words(
    file: BinaryIO, keywords: object, comment_tags: object, options: object
) -> Iterator[Extracted]:
    """Yield the words of the page: an object of keys and texts."""
    words: dict[str, str] = json.load(file)
    for line, (key, text) in enumerate(words.items(), start=2):
        name = counted_name(key, words)
        if name is None:
            yield line, "pgettext", (key, text), []
        elif key.endswith(".one"):
            yield line, "npgettext", (name, *forms_of(name, words)), []


def extract_rules(
    file: BinaryIO, keywords: object, comment_tags: object, options: object
) -> Iterator[Extracted]:
    """Yield title, sections and texts of the rules; the rule's id is a comment."""
    rules = json.load(file)
    yield 1, "gettext", rules["title"], []
    for rule in rules["rules"]:
        yield 1, "gettext", rule["section"], []
        yield 1, "gettext", rule["text"], [rule["id"]]
