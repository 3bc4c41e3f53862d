"""The catalogues: whole, in step with the code, true to the glossary; and which one is chosen."""

from __future__ import annotations

import re
import string
from functools import cache
from itertools import groupby
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog, Message
from babel.messages.extract import DEFAULT_KEYWORDS, extract_from_dir
from babel.messages.frontend import parse_mapping_cfg
from babel.messages.mofile import read_mo
from babel.messages.pofile import read_po
from werkzeug.datastructures import LanguageAccept
from werkzeug.http import parse_accept_header

from service.rules.violations import SENTENCE_OF
from service.sentences import Sentence, Share
from service.translations import FOLDER, LANGUAGES, best_language, catalogue

ROOT = Path(__file__).parents[1]
OTHERS = LANGUAGES[1:]

OTHER_SENSE = {
    ("set", "A take sets the count back to nought."),
    ("run", "can be run in a shell"),
    ("run", "No clock runs in that game now."),
    ("hand", "Select and copy by hand"),
    ("hand", "the turn in hand"),
    ("draw", "equal points are a draw"),
    ("draw", "A draw, "),
    ("bot", "GET /bots"),
    ("pass", "sets the count back"),
}
"""Terms of the glossary that stand in a message as a word of every day."""


@cache
def messages(language: str) -> list[Message]:
    """Return the messages of a catalogue."""
    with (FOLDER / language / "LC_MESSAGES" / "messages.po").open("rb") as file:
        return [message for message in read_po(file, language) if message.id]


def forms(text: object) -> list[str]:
    """Return the forms of a message, one or two."""
    return list(text) if isinstance(text, tuple | list) else [str(text)]


def key(message: Message) -> tuple[tuple[str, ...], str | None]:
    """Return what tells messages of a catalogue apart."""
    return tuple(forms(message.id)), message.context


def fields(text: str) -> set[str]:
    """Return the names in braces, without how they are written."""
    return {re.split(r"[!:]", name)[0] for _, name, _, _ in string.Formatter().parse(text) if name}


def words_of_the_code() -> Catalog:
    """Return what `make words` finds in the code."""
    with (FOLDER / "babel.cfg").open(encoding="utf-8") as file:
        methods, options = parse_mapping_cfg(file)
    found = Catalog()
    keywords = {**DEFAULT_KEYWORDS, "Sentence": None}
    for folder in ("service", "workers"):
        rules = [(pattern.removeprefix(f"{folder}/"), method) for pattern, method in methods]
        by_pattern = {pattern.removeprefix(f"{folder}/"): more for pattern, more in options.items()}
        for _, _, text, _, context in extract_from_dir(
            ROOT / folder, rules, by_pattern, keywords=keywords
        ):
            found.add(text, context=context)
    return found


def test_the_catalogues_have_the_words_of_the_code():
    """After `make words` they do; nothing is missing and nothing is left over."""
    wanted = {key(message) for message in words_of_the_code() if message.id}

    assert len(wanted) > 400
    for language in OTHERS:
        found = {key(message) for message in messages(language)}
        assert found == wanted, language


@pytest.mark.parametrize("language", OTHERS)
def test_each_catalogue_is_whole(language: str):
    """Nothing untranslated, nothing uncertain, every field there in every form."""
    for message in messages(language):
        assert not message.fuzzy, message.id
        assert len(forms(message.string)) == len(forms(message.id))
        for text in forms(message.string):
            assert text.strip(), message.id
            assert text == text.strip()
        for original, text in zip(forms(message.id), forms(message.string), strict=True):
            assert fields(original) == fields(text), text


@pytest.mark.parametrize("language", OTHERS)
def test_what_is_compiled_is_what_is_written(language: str):
    """The service reads the `.mo`, translators the `.po`."""
    with (FOLDER / language / "LC_MESSAGES" / "messages.mo").open("rb") as file:
        compiled = {key(message): forms(message.string) for message in read_mo(file) if message.id}

    assert compiled == {key(message): forms(message.string) for message in messages(language)}


@pytest.mark.parametrize("language", OTHERS)
def test_the_same_english_is_told_the_same(language: str):
    """Where page and API say one thing they say it in one way."""
    by_text = sorted(messages(language), key=lambda message: str(message.id))
    for text, same in groupby(by_text, key=lambda message: str(message.id)):
        told = {str(message.string) for message in same}
        assert len(told) == 1, (text, told)


@pytest.mark.parametrize("language", OTHERS)
def test_every_refusal_of_the_rules_is_translated(language: str):
    """One sentence a violation; no two are the same."""
    tell = catalogue(language).gettext
    told = {violation: tell(sentence.pattern) for violation, sentence in SENTENCE_OF.items()}

    assert len(set(told.values())) == len(told)
    for violation, sentence in SENTENCE_OF.items():
        assert told[violation] != sentence
        assert told[violation].endswith(".")


Glossary = list[tuple[list[str], dict[str, list[str]], list[str]]]


def glossary() -> Glossary:
    """Return the rows of the README's table: English, stems by language, words to avoid."""
    text = (FOLDER / "README.md").read_text("utf-8")
    rows = text.split("| English | Esperanto | Finnish | not |\n")[1].splitlines()[1:]
    found: Glossary = []
    for row in rows:
        english, esperanto, finnish, slips = (cell.strip() for cell in row.strip("|").split("|"))
        stems = {"eo": stems_of(esperanto), "fi": stems_of(finnish)}
        found.append((english.split(", "), stems, stems_of(slips.partition(":")[0])))
    return found


def stems_of(cell: str) -> list[str]:
    """Return the parts of a cell's words that stay."""
    plain = re.sub(r"\(.*\)", "", cell)
    return [word.strip().partition("·")[0] for word in plain.split(",") if word.strip()]


def stands_in(term: str, text: str) -> bool:
    """Tell whether an English term stands in a text; `meld·` stands in melded."""
    text = re.sub(r"\{.*?\}", "", text)
    stem, point, _ = term.partition("·")
    ending = r"\w*" if point else r"s?\b(?!-)"
    for known, sense in OTHER_SENSE:
        if known == stem:
            text = text.replace(sense, "")
    return re.search(rf"\b{re.escape(stem)}{ending}", text, re.IGNORECASE) is not None


@pytest.mark.parametrize("language", OTHERS)
def test_the_terms_are_those_of_the_glossary(language: str):
    """Wherever a term stands in the English, its translation stands in the other language."""
    uses = 0
    for terms, stems, _ in glossary():
        for message in messages(language):
            for original, text in zip(forms(message.id), forms(message.string), strict=True):
                if any(stands_in(term, original) for term in terms):
                    uses += 1
                    assert any(stem in text.lower() for stem in stems[language]), (terms, text)
    assert uses > 300


@pytest.mark.parametrize("language", OTHERS)
def test_no_translation_falls_for_a_false_friend(language: str):
    """Melds do not melt, runs are not run on foot, and no merchant deals."""
    slips = [slip for _, _, row in glossary() for slip in row]
    text = " ".join(form for message in messages(language) for form in forms(message.string))

    assert len(slips) > 15
    assert [] == [slip for slip in slips if re.search(rf"\b{slip}", text, re.IGNORECASE)]


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ("fi", "fi"),
        ("eo;q=0.9, fi;q=0.8", "eo"),
        ("en;q=0.1, fi;q=0.5", "fi"),
        ("fi-FI, en;q=0.5", "fi"),
        ("de, sv;q=0.8, FI-fi;q=0.3", "fi"),
        ("fi;q=0.2, fi-FI;q=0.9, eo;q=0.5", "fi"),
        ("fi, eo", "fi"),
        ("de", "en"),
        ("", "en"),
        ("*", "en"),
        ("*;q=0.5, eo;q=0.2", "en"),
        ("en;q=0, *", "eo"),
        ("eo;q=0", "en"),
        ("en;q=0, eo;q=0, fi;q=0.1", "fi"),
        ("en;q=0", "en"),
        (";;,", "en"),
    ],
)
def test_the_language_liked_best_is_given(asked: str, given: str):
    """By quality; a dialect counts as its language, nought rules one out, English is for others."""
    assert given == best_language(parse_accept_header(asked, LanguageAccept))


def test_a_sentence_is_english_text_that_can_be_told_anew():
    """Who knows nothing of languages sees a text."""
    sentence = Sentence("Seat {seat} wins in {share}.", seat=2, share=Share(0.25))

    assert "Seat 2 wins in 25\N{NO-BREAK SPACE}%." == sentence
    told = Sentence("Why: {why}", why=sentence).told(
        {sentence.pattern: "{share}: loko {seat}", "Why: {why}": "Kial: {why}"}.__getitem__
    )
    assert "Kial: 25\N{NO-BREAK SPACE}%: loko 2" == told
