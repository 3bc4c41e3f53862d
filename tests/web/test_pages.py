"""What is served: pages and static files, without a browser."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from service import web
from service.rules.violations import SENTENCE_OF
from service.translations import LANGUAGES, catalogue, register_translations
from service.web import articles, guides

STATIC = Path(web.__file__).parent / "static"
MOST_BYTES = 200_000
USED = re.compile(r"""\bt\(\s*(?:[\w.! ]+\? )?["']([a-z_.]+)["']""")


@pytest.fixture
def client() -> FlaskClient:
    """Return a client of an app that has the pages alone."""
    app = Flask("pages", static_folder=None)
    register_translations(app)
    app.register_blueprint(web.pages)
    return app.test_client()


def words(language: str) -> dict[str, str]:
    """Return the words of a language as they are served."""
    found: dict[str, str] = json.loads(web.static_files()[f"i18n/{language}.json"])
    return found


def test_a_visit_weighs_less_than_200_kb(client: FlaskClient):
    """Page, style, all modules, all cards, the largest catalogue, unpacked; packed a third."""
    files = web.static_files()
    catalogues = [path for path in files if path.startswith("i18n/")]
    others = (*catalogues, "index.html", "guides.css")
    loaded = [path for path in files if path not in others]
    loaded.append(max(catalogues, key=lambda path: len(files[path])))

    weight = len(client.get("/").data) + sum(len(files[path]) for path in loaded)
    packed = len(client.get("/").data) + sum(len(gzip.compress(files[path])) for path in loaded)

    print(f"a visit: {weight} bytes, {packed} packed")
    assert weight < MOST_BYTES
    assert packed < MOST_BYTES / 2


def test_nothing_is_loaded_from_elsewhere():
    """No address of another host stands in any file, but for the name of SVG's namespace."""
    for path, raw in web.static_files().items():
        found = re.findall(r"https?://[\w.-]+[\w/]*", raw.decode())

        assert {"http://www.w3.org/2000/svg"} >= set(found), path


def test_the_policy_allows_nothing_inline(client: FlaskClient):
    """And the page has nothing inline to allow."""
    answer = client.get("/")

    policy = answer.headers["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none'")
    assert "require-trusted-types-for 'script'" in policy
    assert not re.search(r"<script(?![^>]*src=)|<style|\sstyle=|\son\w+=", answer.text)


def test_an_address_of_this_release_is_kept_for_a_year(client: FlaskClient):
    """The path holds a digest of all files."""
    module = re.search(r'src="(/static/[^"]+/table\.js)"', client.get("/").text)
    assert module

    answer = client.get(module[1])

    assert 200 == answer.status_code
    assert "immutable" in answer.headers["Cache-Control"]
    assert answer.content_type.startswith("text/javascript")


def test_a_page_of_another_release_gets_the_files_of_this_one_to_use_once(client: FlaskClient):
    """While two releases run side by side, no page is left without its modules."""
    answer = client.get("/static/0123456789abcdef/table.js")

    assert (200, "no-cache") == (answer.status_code, answer.headers["Cache-Control"])


def test_a_guide_is_a_page_of_its_own_with_the_same_policy():
    """Nothing inline, nothing from elsewhere but links to be followed."""
    app = Flask("guides", static_folder=None)
    app.register_blueprint(guides.pages)
    client = app.test_client()

    for path in ("", *(f"/{name}" for name in guides.GUIDES)):
        answer = client.get(f"/docs/guides{path}")

        assert web.POLICY == answer.headers["Content-Security-Policy"]
        assert not re.search(r"<script|<style|\sstyle=|\son\w+=|{{", answer.text)
        assert not re.search(r'(?:src|<link[^>]*href)="http', answer.text)
        assert 1 == answer.text.count("<h1>")
        assert 1 == answer.text.count('aria-current="page"')
    assert (
        304
        == client.get(
            answer.request.path, headers={"If-None-Match": answer.headers["ETag"]}
        ).status_code
    )
    assert 404 == client.get("/docs/guides/nothing").status_code


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_guide_says_in_the_readers_language_that_it_is_in_english(language: str):
    """By the address or by what the browser likes; who reads English is told nothing."""
    app = Flask("guides", static_folder=None)
    app.register_blueprint(guides.pages)
    client = app.test_client()
    note = catalogue(language).gettext(articles.ENGLISH_ONLY)

    by_header = client.get("/docs/guides/hints", headers={"Accept-Language": language})
    by_address = client.get(f"/docs/guides/hints?lang={language}")

    assert by_header.data == by_address.data
    assert "Accept-Language" in by_header.headers["Vary"]
    assert "en" == by_header.headers["Content-Language"]
    assert (f'lang="{language}">{note}<' in by_header.text) == (language != "en")
    assert (note in by_header.text) == (language != "en")


@pytest.mark.parametrize("path", ["nothing.js", "../__init__.py", "i18n/../../__init__.py", ""])
def test_only_static_files_are_served(client: FlaskClient, path: str):
    """What is not in the list is not there."""
    assert client.get(f"/static/{web.digest()}/{path}").status_code in (404, 308)


def test_an_unchanged_page_is_not_sent_again(client: FlaskClient):
    """The tag names release and language."""
    first = client.get("/", headers={"Accept-Language": "fi"})

    again = client.get(
        "/", headers={"Accept-Language": "fi", "If-None-Match": first.headers["ETag"]}
    )
    other = client.get(
        "/", headers={"Accept-Language": "eo", "If-None-Match": first.headers["ETag"]}
    )

    assert (304, 200) == (again.status_code, other.status_code)


def test_files_travel_packed(client: FlaskClient):
    """gzip for who takes it; the same bytes as without."""
    path = f"/static/{web.digest()}/table.css"

    packed = client.get(path, headers={"Accept-Encoding": "gzip"})
    plain = client.get(path)

    assert "gzip" == packed.headers["Content-Encoding"]
    assert plain.data == gzip.decompress(packed.data)
    assert len(packed.data) < len(plain.data) / 2


@pytest.mark.parametrize(
    ("asked", "given"),
    [("fi-FI, en;q=0.5", "fi"), ("eo", "eo"), ("de, fi;q=0.3", "fi"), ("de", "en"), ("", "en")],
)
def test_the_page_comes_in_the_readers_language(client: FlaskClient, asked: str, given: str):
    """Before any script runs."""
    answer = client.get("/", headers={"Accept-Language": asked})

    assert given == answer.headers["Content-Language"]
    assert f'<html lang="{given}"' in answer.text
    assert words(given)["bar.new"] in answer.text
    assert "{{" not in answer.text


def test_an_address_may_name_the_language(client: FlaskClient):
    """For links; an unknown one counts for nothing."""
    assert "eo" == client.get("/?lang=eo").headers["Content-Language"]
    assert "en" == client.get("/?lang=xx").headers["Content-Language"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_words_of_each_language_have_the_same_keys(language: str):
    """They are those of the English file, and none of them is empty."""
    english = json.loads((STATIC / "i18n" / "en.json").read_text("utf-8"))

    assert list(english) == list(words(language))
    assert all(text.strip() for text in words(language).values())
    assert (words(language) == english) == (language == "en")


def test_all_words_that_the_scripts_ask_for_are_there():
    """A missing key would show as the key."""
    known = words("en")
    asked = {
        key
        for path in STATIC.glob("*.js")
        for key in USED.findall(path.read_text("utf-8"))
        if not key.endswith(".")
    }

    assert len(asked) > 100
    assert set() == {key for key in asked if key not in known and f"{key}.other" not in known}


def test_the_scripts_have_no_refusal_of_their_own():
    """What the rules refuse, and why, the page shows as the API says it."""
    english = set(words("en").values())

    assert not english & set(SENTENCE_OF.values())
    assert not any(key.startswith("reason.") for key in words("en"))
