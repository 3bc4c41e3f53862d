"""Words in the reader's language: gettext catalogues, chosen by `Accept-Language`.

English is what the code says: sentences (`service/sentences.py`), the rules
(`service/api/rules_en.json`), the words of the page (`service/web/static/i18n/en.json`). The other
languages are catalogues in this folder, made from these by `make words`; its README has the
glossary. Codes, names of members and values never pass through here.

`told` is for answers to a request, by flask-babel; `catalogue` is for what is made once and kept.
"""

from functools import cache
from pathlib import Path

from babel.support import NullTranslations, Translations
from flask import Flask, request
from flask_babel import Babel, get_locale, gettext
from werkzeug.datastructures import Accept

from service.sentences import Sentence

LANGUAGES = ("en", "eo", "fi")
"""The first one is what the code says, and for those who want none of them."""
FOLDER = Path(__file__).parent
ANY = "*"


def best_language(accepted: Accept) -> str:
    """Return the one of `LANGUAGES` that an `Accept-Language` likes best.

    A dialect counts as its language (`fi-FI, en;q=0.5` wants Finnish), `q=0` rules one out, and `*`
    stands for those that are not named. Of equals the first named is taken."""
    qualities: dict[str, float] = {}
    for tag, quality in accepted:
        language = tag.partition("-")[0].lower()
        qualities[language] = max(quality, qualities.get(language, 0.0))
    rest = qualities.get(ANY, 0.0)
    named = [language for language in qualities if language in LANGUAGES]
    others = [language for language in LANGUAGES if language not in qualities]
    wanted = [(qualities[language], language) for language in named]
    wanted += [(rest, language) for language in others]
    quality, language = max(wanted, key=lambda pair: pair[0])
    return language if quality > 0 else LANGUAGES[0]


def register_translations(app: Flask) -> None:
    """Let `app` speak the language that each request asks for."""
    Babel(
        app,
        default_locale=LANGUAGES[0],
        default_translation_directories=str(FOLDER),
        locale_selector=lambda: best_language(request.accept_languages),
        configure_jinja=False,
    )


def language_in_use() -> str:
    """Return the language of the request in hand."""
    return str(get_locale())


def told(text: str) -> str:
    """Return `text` in the language of the request in hand; as it is where there is no translation.

    What was stored as plain English is found too, if no value stands in it."""
    if isinstance(text, Sentence):
        return text.told(_translate)
    return _translate(text)


def _translate(text: str) -> str:
    # The translation of no text is the catalogue's head.
    return str(gettext(text)) if text else ""


def language_headers() -> dict[str, str]:
    """Return the headers of an answer whose texts are in the language of the request in hand."""
    return {"Content-Language": language_in_use(), "Vary": "Authorization, Accept-Language"}


@cache
def catalogue(language: str) -> NullTranslations:
    """Return the catalogue of one of `LANGUAGES`; English has none, and is told as it is."""
    return Translations.load(FOLDER, [language])
