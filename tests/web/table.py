"""The table as somebody at a browser sees and touches it."""

from __future__ import annotations

import os
from pathlib import Path

from playwright.sync_api import ConsoleMessage, Locator, Page

SCREENS = os.environ.get("SCREENS")
A_REFUSAL = "Failed to load resource"
"""What the browser notes for each answer of 400 and above, and when the service is away."""
CARD_EDGE = {"x": 7.0, "y": 24.0}
"""Where cards that overlap can be touched."""


class Table:
    """One window at the table."""

    def __init__(self, page: Page) -> None:
        """Begin to note what goes wrong in `page`."""
        self.page = page
        self.faults: list[str] = []
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("console", self._note)

    def _note(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and A_REFUSAL not in message.text:
            self.faults.append(message.text)

    def go(self, url: str) -> None:
        """Go to an address and wait for the page's script."""
        self.page.goto(url)
        self.page.locator("body[data-ready]").wait_for()

    def find(self, selector: str) -> Locator:
        """Return what matches in the page."""
        return self.page.locator(selector)

    def shoot(self, name: str) -> None:
        """Keep a picture, if pictures are wanted."""
        if SCREENS:
            # Cards on their way would look lost.
            self.page.wait_for_timeout(400)
            Path(SCREENS).mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=Path(SCREENS, f"{name}.png"))

    def new_game(self, *choices: str, deals: int = 2, seed: str = "", seating: str = "") -> None:
        """Fill in the dialog: who sits at the left, opposite, at the right; begin the game."""
        self.find('.bar [data-do="new"]').click()
        self.find('dialog [name="name"]').fill("Ana")
        for place, choice in enumerate(choices, start=1):
            self.find(f'[name="seat-{place}"]').select_option(choice)
        if seating:
            self.find('[name="seating"]').select_option(seating)
        self.find("details.more summary").click()
        self.find('[name="deals"]').fill(str(deals))
        self.find('[name="seed"]').fill(seed)
        self.find("dialog [type=submit]").click()
        self.find("dialog").wait_for(state="detached")

    @property
    def is_over(self) -> bool:
        """Tell whether the result is shown."""
        return self.find("#result h2").count() == 1

    def await_turn(self) -> None:
        """Wait until there is something to do, or the game is over, and the cards lie still."""
        self.find("#actions button, #result h2").first.wait_for()
        self.await_cards()

    def await_cards(self) -> None:
        """Wait until no card is on its way."""
        self.find("body:not(:has(.in-flight))").wait_for()

    def choose_first_takeable(self) -> Locator | None:
        """Return a card of the pile that may be taken, None for none."""
        takeable = self.find("#pile [data-legal]")
        return takeable.first if takeable.count() else None

    def play_step(self) -> None:
        """Do one sensible thing by mouse: take or draw, meld what is proposed, or discard."""
        version = self.version
        self.await_cards()
        takeable = self.choose_first_takeable()
        if takeable is not None:
            takeable.click(position=CARD_EDGE)
        elif self.find('[data-act="draw"], [data-act="pass"]').count():
            self.find('[data-act="draw"], [data-act="pass"]').first.click()
        elif self.find(".proposal").count():
            self.find(".proposal").first.click()
            self.find('#actions .main:not([data-act="discard"])').first.click()
        else:
            self.discard()
        self.await_version_past(version)

    def discard(self) -> None:
        """Discard the last card of the hand."""
        self.find("#hand [data-card]").last.click(position=CARD_EDGE)
        self.find('[data-act="discard"]').click()

    @property
    def version(self) -> int:
        """The newest line of the log: the version that is shown."""
        newest = self.find("#log li").first
        return int(newest.get_attribute("data-version") or 0) if newest.count() else 0

    def await_version_past(self, version: int) -> None:
        """Wait until the log goes further than `version`."""
        line = self.find(f'#log li:first-child:not([data-version="{version}"])')
        line.first.wait_for(state="attached")

    def play_to_the_end(self) -> None:
        """Play until the result is shown."""
        self.await_turn()
        while not self.is_over:
            self.play_step()
            self.await_turn()

    def hand(self) -> set[str]:
        """Return the cards in hand."""
        cards = self.find("#hand [data-card]")
        return {str(card.get_attribute("data-card")) for card in cards.all()}
