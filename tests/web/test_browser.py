"""The table in a real browser: mouse, keyboard, finger, two people, a service that goes away."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Route

from service.rules.violations import SENTENCE_OF, Violation
from service.translations import catalogue
from tests.e2e.harness import Player, Service, wait_until
from tests.web.table import CARD_EDGE, Table

# First, or one process of the tests would end with these long after the other has nothing left.
pytestmark = [pytest.mark.browser, pytest.mark.e2e, pytest.mark.first]

Open = Callable[..., Table]
GREEDY = ("greedy", "greedy", "greedy")
PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
MOST_TABS = 60
STANDARDS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
FIRST_PAINT_MS = 1000
BUSY = 4
"""How much slower a machine may be that runs other tests too."""


def check_access(table: Table, state: str) -> None:
    """Find nothing that axe knows to shut people out."""
    table.page.wait_for_timeout(350)
    found = Axe().run(table.page, options={"runOnly": {"type": "tag", "values": STANDARDS}})

    faults = [
        f"{state}: {fault['id']}: {fault['help']}: {node['html'][:200]}"
        for fault in found.response["violations"]
        for node in fault["nodes"]
    ]
    assert [] == faults


# Whole games.


def test_a_whole_game_by_mouse(service: Service, open_table: Open):
    """Two deals against bots; then the score sheet, the check of the shuffle, the replay."""
    table = open_table(service.base_url)
    table.shoot("welcome")
    table.new_game(*GREEDY, seed="mouse", seating="draw")

    table.play_to_the_end()

    assert 2 == table.find("#result .deal-row").count()
    table.shoot("result")
    table.find('[data-end="check"]').click()
    table.find(".verdict").wait_for()
    table.shoot("check")
    assert table.find('.checks [data-right="true"]').count() >= 5
    assert 0 == table.find('.checks [data-right="false"]').count()
    check_access(table, "check")
    table.find('[data-end="replay"]').click()
    table.find("#replay-slider").fill("25")
    assert "25 of" in table.find("#turn").inner_text()
    table.shoot("replay")
    check_access(table, "replay")


def focus_by_tab(table: Table, selector: str) -> None:
    """Reach an element by the Tab key alone."""
    for _ in range(MOST_TABS):
        if table.find(f"{selector}:focus").count():
            return
        table.page.keyboard.press("Tab")
    raise AssertionError(f"no way to {selector} by Tab")


def play_step_by_keys(table: Table) -> None:
    """Do one sensible thing with Tab, arrows, Space and Enter."""
    press = table.page.keyboard.press
    version = table.version
    if table.find('[data-act="draw"], [data-act="pass"]').count():
        focus_by_tab(table, "#actions button")
        press("Enter")
    elif table.find(".proposal").count():
        focus_by_tab(table, ".proposal")
        press("Enter")
        table.find("#hand [aria-pressed=true]").first.wait_for()
        focus_by_tab(table, '#actions .main:not([data-act="discard"])')
        press("Enter")
    else:
        focus_by_tab(table, "#hand [data-card]")
        press("End")
        press("Space")
        focus_by_tab(table, '[data-act="discard"].main')
        press("Enter")
    table.await_version_past(version)


def test_a_whole_game_by_keyboard_alone(service: Service, open_table: Open):
    """From the first page to the result, without mouse and without letter keys."""
    table = open_table(service.base_url)
    press = table.page.keyboard.press
    focus_by_tab(table, '.bar [data-do="new"]')
    press("Enter")
    table.find('dialog [name="name"]:focus').wait_for()
    table.page.keyboard.type("Ana")
    for place in (2, 1, 3):
        focus_by_tab(table, f'[name="seat-{place}"]')
        table.page.keyboard.type("Bot: g")
    focus_by_tab(table, "details.more summary")
    press("Space")
    focus_by_tab(table, '[name="deals"]')
    press("ArrowDown")
    focus_by_tab(table, "dialog [type=submit]")
    press("Enter")

    table.await_turn()
    while not table.is_over:
        play_step_by_keys(table)
        table.await_turn()

    assert 1 == table.find("#result .deal-row").count()


def test_cards_can_be_dragged(service: Service, open_table: Open):
    """Stock to hand, hand to pile; the legal places are marked meanwhile."""
    table = open_table(service.base_url)
    table.new_game(*GREEDY, seed="drag")
    table.await_turn()
    table.find("#stock").drag_to(table.find("#hand"))
    table.find("#hand [data-card]").nth(7).wait_for()
    table.await_cards()

    card = table.find("#hand [data-card]").last
    name = card.get_attribute("data-card")
    box = card.bounding_box()
    assert box
    table.page.mouse.move(box["x"] + 20, box["y"] + 30)
    table.page.mouse.down()
    table.page.mouse.move(box["x"], box["y"] - 60, steps=4)
    assert 1 == table.find("#pile[data-target]").count()
    table.shoot("dragging")
    pile = table.find("#pile").bounding_box()
    assert pile
    table.page.mouse.move(pile["x"] + 40, pile["y"] + 40, steps=6)
    table.page.mouse.up()

    discards = '#log li:has-text("You discard")'
    table.find(discards).first.wait_for()
    assert name not in table.hand()


# People.


def test_two_people_in_two_windows(service: Service, open_table: Open):
    """One invites, the other joins by the link; each sees the own hand alone; a reload goes on."""
    ana = open_table(service.base_url)
    ana.new_game("greedy", "open", "greedy", seed="two")
    ana.find(".waiting").wait_for()
    ana.shoot("waiting")
    check_access(ana, "waiting")
    link = ana.find(".link-row input").first.input_value()
    bo = open_table(link)
    bo.find('dialog [name="name"]').fill("Bo")
    check_access(bo, "join")
    bo.find("dialog [type=submit]").click()

    for table in (ana, bo):
        table.find("#hand [data-card]").nth(6).wait_for()
    assert not ana.hand() & bo.hand()
    assert "Bo" in ana.find("#others").inner_text()
    for _ in range(4):
        take_turn(whose_turn(ana, bo))
    before = bo.hand()
    bo.page.reload()
    bo.find("#hand [data-card]").first.wait_for()
    assert before == bo.hand()
    take_turn(whose_turn(ana, bo))


def whose_turn(*tables: Table) -> Table:
    """Wait until one of them may act."""

    def found() -> list[Table]:
        return [table for table in tables if table.find("#actions button").count()]

    wait_until(found, 20, "somebody's turn")
    return found()[0]


def take_turn(table: Table) -> None:
    """Wait for one's turn and play it."""
    table.await_turn()
    while not table.is_over and table.find("#actions button").count():
        table.play_step()
        table.page.wait_for_timeout(50)


def test_a_seats_link_carries_the_token_and_leaves_no_trace_of_it(
    service: Service, open_table: Open
):
    """Behind `#`, read once and taken out of the address; nor does the drawer show it."""
    made = service.app.must(
        201,
        "POST",
        "/games",
        {
            "seats": [{"player": "human", "name": "Ana"}]
            + [{"player": "bot", "level": "greedy"}] * 3
        },
    )
    token = made["seat_tokens"]["0"]

    table = open_table(f"{service.base_url}/#game={made['game']['id']}&seat=0&token={token}")

    table.find("#hand [data-card]").first.wait_for()
    assert "token" not in table.page.url
    table.find('[data-do="api"]').click()
    table.find("#calls summary").first.wait_for()
    for summary in table.find("#calls summary").all()[:6]:
        summary.click()
    assert token not in table.page.content()
    assert "Bearer $TOKEN" in table.find("#drawer").inner_text()


def test_without_events_it_asks_again_and_again(service: Service, open_table: Open):
    """Where the route of events is missing, long polls do."""
    table = open_table(service.base_url)
    problem = '{"type": "/docs/problems/not-found", "title": "Nothing", "status": 404}'
    table.page.route(
        "**/events",
        lambda route: route.fulfill(
            status=404, content_type="application/problem+json", body=problem
        ),
    )
    table.new_game(*GREEDY, seed="polls")

    for _ in range(2):
        take_turn(table)
    table.await_turn()

    assert table.version > 12


def test_others_may_look_on(service: Service, open_table: Open):
    """By its link, without a hand and without anything to do."""
    made = service.app.must(
        201, "POST", "/games", {"seats": [{"player": "bot", "level": "random"}] * 4, "deals": 1}
    )

    table = open_table(f"{service.base_url}/#watch={made['game']['id']}")

    table.find("#result h2").wait_for()
    assert 0 == table.find("#hand [data-card]").count()


def test_a_link_for_looking_on_carries_its_token_and_leaves_no_trace_of_it(
    service: Service, open_table: Open
):
    """As a seat's link does; the calls of the page are the spectator's."""
    made = service.app.must(
        201, "POST", "/games", {"seats": [{"player": "bot", "level": "random"}] * 4, "deals": 1}
    )
    token = made["spectator_token"]
    callers: set[str | None] = set()
    table = open_table(service.base_url)
    path = f"/games/{made['game']['id']}"
    table.page.on(
        "request",
        lambda sent: path in sent.url and callers.add(sent.headers.get("authorization")),
    )

    table.page.goto(f"{service.base_url}/#watch={made['game']['id']}&token={token}")

    table.find("#result h2").wait_for()
    assert {f"Bearer {token}"} == callers
    assert "token" not in table.page.url
    assert 0 == table.find("#actions button").count()
    assert re.search(r" win, \u2212?\d+ to |A draw, ", table.find("#result h2").inner_text())


def test_a_review_leads_to_the_moves_that_cost_most(service: Service, open_table: Open):
    """The margin over the game and the luck as a graph; a blunder is shown where it was made."""
    made = service.app.must(
        201,
        "POST",
        "/games",
        {"seats": [{"player": "bot", "level": "random"}] * 4, "deals": 1, "seed": "review"},
    )
    table = open_table(f"{service.base_url}/#watch={made['game']['id']}")
    table.find("#result h2").wait_for()

    table.find('[data-end="review"]').click()

    table.find("#end-extra progress").wait_for(state="detached", timeout=120_000)
    table.shoot("review")
    check_access(table, "review")
    assert 4 == table.find(".players tbody tr").count()
    assert table.find(".review-graph .line").count()
    spots = table.find(".review-graph .spot")
    assert 0 < table.find(".blunders li").count() <= spots.count()
    worst = table.find(".blunders button").first
    told = worst.inner_text().split(": ")[1].split()[0]
    worst.click()
    table.find("#replay-slider").wait_for()
    before = int(table.find("#replay-slider").input_value())
    table.find('#actions button:has-text("On")').click()
    assert f"{before + 1} of" in table.find("#turn").inner_text()
    assert told.lower() in table.find("#turn").inner_text().lower()


# The service goes away.


def test_the_table_goes_on_after_the_service_was_away(own_service: Service, open_table: Open):
    """It says that there is no connection, tries again, and misses nothing."""
    table = open_table(own_service.base_url)
    table.new_game(*GREEDY, seed="away")
    take_turn(table)
    table.await_turn()

    own_service.stop()
    table.find('#live[data-state="away"]').wait_for()
    table.shoot("away")
    own_service.start()

    table.find('#live[data-state="live"]').wait_for(timeout=30_000)
    take_turn(table)
    table.await_turn()
    events = Player(own_service.base_url).log(table.page.url.split("game=")[1].split("&")[0])
    shown = table.find("#log li").count()
    assert len(events) == shown


# What may be done, and why not.


def start(service: Service, open_table: Open, seed: str, **settings: Any) -> Table:
    """Open a window and begin a game with a known shuffle; it is the person's turn."""
    table = open_table(service.base_url, **settings)
    table.new_game(*GREEDY, seed=seed)
    table.await_turn()
    return table


def test_what_is_not_legal_explains_itself_with_the_rule(service: Service, open_table: Open):
    """The service's own sentence, and its rule one click away."""
    table = start(service, open_table, "refuse")
    if table.choose_first_takeable() is None:
        table.find("#pile button").first.click(force=True)
        table.find('.rule-link:has-text("R12")').wait_for()
    table.find('[data-act="draw"]').click()
    table.find("#hand [data-card]").nth(7).wait_for()
    table.find("#hand [data-card]").first.click(position=CARD_EDGE)
    assert "true" == table.find('[data-act="meld"]').get_attribute("aria-disabled")

    table.find('[data-act="meld"]').click(force=True)

    table.find(".rule-link").wait_for()
    table.shoot("refused")
    check_access(table, "refused")
    rule = table.find(".rule-link").inner_text()
    table.find(".rule-link").click()
    table.find(f"#rule-{rule}[data-cited]").wait_for()


def test_a_refusal_goes_when_it_is_read(service: Service, open_table: Open):
    """By its button, by Escape, and when something else is chosen; the focus is not lost."""
    table = start(service, open_table, "calm")
    press = table.page.keyboard.press
    table.find("#hand [data-card]").first.focus()

    for _ in range(2):
        press("d")
        table.find("#refusal .rule-link").wait_for()
        press("Escape")
        assert "" == table.find("#refusal").inner_text()
    press("d")
    table.find("#refusal .tool").click()
    assert "" == table.find("#refusal").inner_text()
    assert 1 == table.find("#hand [data-card]:focus").count()
    press("d")
    table.find("#refusal .rule-link").wait_for()
    press("Space")
    assert "" == table.find("#refusal").inner_text()


def test_a_letter_that_means_nothing_now_says_why(service: Service, open_table: Open):
    """Discarding and melding before drawing, drawing twice: the service's own sentence."""
    table = start(service, open_table, "letters")
    press = table.page.keyboard.press
    said = table.find("#refusal span")

    for letter in "dm":
        press(letter)
        said.filter(has_text=SENTENCE_OF[Violation.NOT_DRAWN]).wait_for()
    press("s")
    table.find("#hand [data-card]").nth(7).wait_for()
    table.await_cards()
    press("s")
    said.filter(has_text=SENTENCE_OF[Violation.ALREADY_DRAWN]).wait_for()


def test_a_wrong_entry_is_named_where_it_is(service: Service, open_table: Open):
    """The service's message at the field, in the reader's language, and the focus there."""
    table = open_table(service.base_url, locale="fi")
    table.find('[data-do="quick"]').wait_for()
    table.find('.bar [data-do="new"]').click()
    table.find("details.more summary").click()
    table.find('[name="deals"]').fill("99")
    table.find("details.more summary").click()

    table.find("dialog [type=submit]").click()

    table.find('[name="deals"][aria-invalid="true"]:focus').wait_for()
    told = catalogue("fi").gettext("A number from {min} to {max} is needed.")
    assert told.format(min=1, max=10) == table.find("#fault-deals").inner_text()
    table.shoot("wrong-entry")
    check_access(table, "wrong entry")
    table.find('[name="deals"]').fill("1")
    table.find("dialog [type=submit]").click()
    table.find("#hand [data-card]:focus").wait_for()


def test_the_table_can_be_played_beside_its_calls(service: Service, open_table: Open):
    """On a screen that is not wide the drawer takes the side's room, not the table's."""
    table = start(service, open_table, "beside")

    table.find('.bar [data-do="api"]').click()

    drawer = table.find("#drawer").bounding_box()
    assert drawer
    for part in ("#table", "#dock", ".bar .tools"):
        box = table.find(part).bounding_box()
        assert box
        assert box["x"] + box["width"] <= drawer["x"]
    table.find('[data-act="draw"]').click()
    table.find('#calls .path:text-matches("/actions$")').first.wait_for()


def test_a_hint_can_be_watched_and_played(service: Service, open_table: Open):
    """A bar a candidate with its interval, the chance to win, a reason; then one click."""
    table = start(service, open_table, "hint")
    version = table.version

    table.find("#hint-ask").click()

    table.find("#hint .whisker").first.wait_for()
    table.shoot("hint")
    check_access(table, "hint")
    best = table.find("#hint .candidate").first
    assert re.search(r"\d+\s% to win", best.inner_text())
    best.locator("[data-hint-play]").click()
    table.await_version_past(version)


def test_a_bot_can_play_the_turn(service: Service, open_table: Open):
    """Once, by the level that is chosen."""
    table = start(service, open_table, "stand-in")

    table.find(".tool-bot").click()
    table.find('dialog [name="level"]').select_option("greedy")
    table.find("dialog [type=submit]").click()

    table.find('#log li:has-text("You discard"), #log li:has-text("Ana went out")').first.wait_for()


def test_bots_play_at_a_pace_that_people_can_follow(service: Service, open_table: Open):
    """One event after the other; whoever is in a hurry skips."""
    table = open_table(service.base_url, pace="slow")
    table.new_game(*GREEDY, seed="pace")

    table.find(".tool-skip").wait_for()
    assert 0 == table.find("#actions button").count()
    table.shoot("waiting-for-bots")
    table.find(".tool-skip").click()

    table.find("#actions button").first.wait_for(timeout=3000)


def test_where_a_key_is_needed_the_dialog_asks_for_it(service: Service, open_table: Open):
    """401 is no dead end: the key goes along with the next try, and into no address."""
    table = open_table(service.base_url)
    keys: list[str | None] = []

    def ask_for_key(route: Route) -> None:
        keys.append(route.request.headers.get("authorization"))
        problem = '{"type": "/docs/problems/not-authenticated", "status": 401, "detail": "A key."}'
        route.fulfill(status=401, content_type="application/problem+json", body=problem)

    table.page.route("**/games", ask_for_key)
    table.find('[data-do="quick"]').click()
    table.find("dialog [type=submit]").click()
    table.find('dialog [name="key"]').fill("prk_mine")
    check_access(table, "key")
    table.find("dialog [type=submit]").click()

    wait_until(lambda: len(keys) == 3, 10, "the third try")
    assert [None, None, "Bearer prk_mine"] == keys
    assert "prk_mine" not in table.page.url


# For everybody.


def test_it_fits_a_phone(service: Service, open_table: Open):
    """360 pixels wide, by finger: nothing is cut off, everything is large enough to touch."""
    table = start(service, open_table, "phone", **PHONE)
    table.shoot("phone-turn")
    for _ in range(2):
        if table.find('[data-act="draw"]').count():
            table.find('[data-act="draw"]').tap()
            table.find('[data-act="discard"]').wait_for()
            table.await_cards()
        table.find("#hand [data-card]").last.tap(position=CARD_EDGE)
        version = table.version
        table.find('[data-act="discard"].main').tap()
        table.await_version_past(version)
        table.await_turn()

    table.shoot("phone")
    wide = "document.documentElement.scrollWidth <= innerWidth"
    assert table.page.evaluate(wide)
    small = table.page.evaluate(
        """() => [...document.querySelectorAll('button, select, a, summary')]
            .filter((one) => one.offsetParent && !one.closest('.skip'))
            .map((one) => [one.getBoundingClientRect(), one.outerHTML.slice(0, 90)])
            .filter(([box]) => box.width && (box.width < 24 || box.height < 24))
            .map(([, html]) => html)"""
    )
    assert [] == [html for html in small if 'class="skip"' not in html]
    check_access(table, "phone")
    table.find(".tool-side").tap()
    assert table.find("#log").is_visible()
    table.shoot("phone-side")


@pytest.mark.parametrize(
    ("language", "draws", "hand", "team", "set_"),
    [
        ("eo", "Tiri el la tirstako", "Via mano", "Ŝanco finludi: via teamo", "Aron faras"),
        ("fi", "Nosta nostopinosta", "Kätesi", "Mahdollisuus päättää jako", "Sarja on"),
    ],
)
def test_it_speaks_the_readers_language(
    service: Service, open_table: Open, language: str, draws: str, hand: str, team: str, set_: str
):
    """By the browser's wish, and by the switch; the codes of the API stay as they are."""
    table = start(service, open_table, "words", locale=language)
    tell = catalogue(language).gettext

    assert draws == table.find('[data-act="draw"]').inner_text()
    assert hand == table.find("#hand").get_attribute("aria-label")
    assert language == table.find("html").get_attribute("lang")
    table.shoot(f"language-{language}")
    check_access(table, language)
    table.find('[data-act="draw"]').click()
    table.find("#hand [data-card]").nth(7).wait_for()
    table.find("#hand [data-card]").first.click(position=CARD_EDGE)
    table.find('[data-act="meld"]').click(force=True)
    refusals = {tell(sentence.pattern) for sentence in SENTENCE_OF.values()}
    assert table.find("#refusal span").inner_text() in refusals
    table.find("#hint-ask").click()
    reason = table.find("#hint .candidate > .reason")
    reason.filter(has_text=team).wait_for()
    table.shoot(f"hint-{language}")
    table.find('.bar [data-do="rules"]').click()
    table.find("#rule-R15").filter(has_text=set_).wait_for()
    table.page.keyboard.press("Escape")
    table.find("#language").select_option("en")
    table.find('[data-act="discard"]:has-text("Discard")').wait_for()
    assert "Scores" == table.find("#scores-head").inner_text()
    reason.filter(has_text="Chance to go out: your team").wait_for()
    assert "" == table.find("#refusal").inner_text()


def test_nothing_that_axe_knows_shuts_people_out(service: Service, open_table: Open):
    """Each state of the page by WCAG 2.2 A and AA, and by good practice."""
    table = open_table(service.base_url)
    check_access(table, "welcome")
    table.find('.bar [data-do="new"]').click()
    table.shoot("new-game")
    check_access(table, "new game")
    table.page.keyboard.press("Escape")
    table.new_game(*GREEDY, seed="axe")
    for _ in range(8):
        table.await_turn()
        table.play_step()
    table.await_turn()
    check_access(table, "turn")
    table.find("#hand [data-card]").first.click(position=CARD_EDGE)
    table.shoot("turn")
    check_access(table, "chosen")
    for name in ("settings", "rules"):
        table.find(f'.bar [data-do="{name}"]').click()
        table.find("dialog").wait_for()
        table.shoot(name)
        check_access(table, name)
        table.page.keyboard.press("Escape")
    table.find('.bar [data-do="api"]').click()
    table.find("#calls summary").first.click()
    table.shoot("drawer")
    check_access(table, "drawer")


@pytest.mark.parametrize("path", ["/docs/guides", "/docs/guides/errors", "/docs/problems"])
def test_the_documentation_shuts_nobody_out(service: Service, open_table: Open, path: str):
    """Pages of text, too, and they say in the reader's language that they are in English."""
    table = open_table(service.base_url, locale="eo")
    table.page.goto(service.base_url + path)

    assert "angla" in table.find('.tongue[lang="eo"]').inner_text()
    table.shoot("docs" + path.replace("/", "-"))
    check_access(table, path)


def test_it_stays_still_for_those_who_want_that(service: Service, open_table: Open):
    """prefers-reduced-motion: cards are there, and do not fly."""
    table = start(service, open_table, "still", reduced_motion="reduce")
    table.page.evaluate("""() => {
        window.flights = 0;
        const animate = Element.prototype.animate;
        Element.prototype.animate = function (...all) {
            window.flights += 1;
            return animate.apply(this, all);
        };
    }""")

    take_turn(table)
    table.await_turn()

    assert 0 == table.page.evaluate("window.flights")


def test_changes_are_told_to_those_who_listen(service: Service, open_table: Open):
    """A polite live region says what others did, in words."""
    table = start(service, open_table, "listen")
    table.page.evaluate("""() => {
        window.told = [];
        new MutationObserver(() => window.told.push(document.querySelector('#said').textContent))
            .observe(document.querySelector('#said'), { childList: true, characterData: true });
    }""")

    take_turn(table)
    table.await_turn()
    table.page.wait_for_timeout(200)

    told = " ".join(table.page.evaluate("window.told"))
    assert "Your turn" in told


def test_it_paints_soon_and_nothing_jumps(service: Service, open_table: Open):
    """The first paint within a second on a machine at rest; no layout shift while it loads."""
    table = open_table(service.base_url)
    table.page.reload()
    table.find('[data-do="quick"]').wait_for()

    measured = table.page.evaluate("""async () => {
        const read = (type) => new Promise((resolve) => {
            const found = [];
            new PerformanceObserver((list) => found.push(...list.getEntries()))
                .observe({ type, buffered: true });
            setTimeout(() => resolve(found), 300);
        });
        const paints = await read('paint');
        const shifts = await read('layout-shift');
        return {
            paint: paints.find((one) => one.name === 'first-contentful-paint').startTime,
            shift: shifts.reduce((sum, one) => sum + one.value, 0),
        };
    }""")

    print(f"first paint {measured['paint']:.0f} ms, layout shift {measured['shift']:.3f}")
    assert measured["paint"] < FIRST_PAINT_MS * BUSY
    assert measured["shift"] < 0.001
