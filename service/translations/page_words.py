"""The words of a page: keys and English texts, told in another language by their catalogue.

The key is the message's context, since one English word may be several in another language. Of
`key.one` and `key.other` one message with a plural is made; all languages here have two forms.
"""

from collections.abc import Mapping

from service.translations import catalogue

FORMS = {"one": 1, "other": 2}
"""What such keys end with, as `Intl.PluralRules` says it, and a number of that form."""


def counted_name(key: str, words: Mapping[str, str]) -> str | None:
    """Return the name that a key with a plural begins with, None for a key without one."""
    name, _, form = key.rpartition(".")
    is_counted = form in FORMS and all(f"{name}.{other}" in words for other in FORMS)
    return name if is_counted else None


def forms_of(name: str, words: Mapping[str, str]) -> tuple[str, str]:
    """Return the English texts of a key with a plural: for one, for others."""
    return words[f"{name}.one"], words[f"{name}.other"]


def told_words(words: Mapping[str, str], language: str) -> dict[str, str]:
    """Return a page's words in one of `LANGUAGES`, by the same keys in the same order."""
    found = catalogue(language)
    told: dict[str, str] = {}
    for key, text in words.items():
        name = counted_name(key, words)
        if name is None:
            told[key] = str(found.pgettext(key, text))
        else:
            number = FORMS[key.rpartition(".")[2]]
            told[key] = str(found.npgettext(name, *forms_of(name, words), number))
    return told
