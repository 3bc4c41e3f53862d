/** How seats, actions and events are called on the page. */

import { short, spoken } from "./cards.js";
import { h } from "./dom.js";
import { t } from "./i18n.js";

/** Where a seat is drawn: 0 below, 1 left, 2 above, 3 right of the one who looks. */
export const placeOf = (game, seat) => (seat - (game.viewer ?? 0) + 4) % 4;

export const nameOf = (game, seat) => game.seats[seat].name || t("seat.open", { seat });

/** One or two letters that tell the four players apart. */
export function initialsOf(game) {
  const first = game.seats.map((_, seat) => (nameOf(game, seat).trim()[0] ?? "?").toUpperCase());
  return first.map((letter, seat) => (first.indexOf(letter) === first.lastIndexOf(letter) ? letter : letter + seat));
}

/** A seat's mark: its colour and letters, round for team 0 and square for team 1. */
export const badge = (game, seat) =>
  h(`span.badge.seat-${seat}`, { "aria-hidden": "true" }, initialsOf(game)[seat]);

/** The team as the viewer thinks of it. */
export function teamName(game, team) {
  if (game.viewer !== null) return t(game.viewer % 2 === team ? "team.us" : "team.them");
  return [team, team + 2].map((seat) => nameOf(game, seat)).join(" + ");
}

export const levelName = (level) => t(`level.${level}`, { fallback: level });

const list = (cards, how) => cards.map(how).join(how === spoken ? ", " : " ");

/**
 * An action as a sentence fragment: what a button says, in signs or (for those who listen) in words.
 */
export function actionText(action, how = short) {
  const cards = action.cards ? list(action.cards, how) : action.card ? how(action.card) : "";
  return t(`action.${action.type}`, { cards, meld: action.meld });
}

/** An event as a sentence. */
export function eventText(game, event, how = short) {
  const isMine = event.seat !== null && event.seat === game.viewer;
  const name = event.seat === null ? "" : nameOf(game, event.seat);
  if (event.type !== "played") {
    return t(`event.${event.type}`, { name, fallback: t("event.other", { name, type: event.type }) });
  }
  const { action } = event;
  const cards = action.cards ? list(action.cards, how) : action.card ? how(action.card) : "";
  const values = { name, cards, meld: action.meld, card: event.card ? how(event.card) : "" };
  const key = `event.${action.type}${action.type === "draw_stock" && isMine ? "_card" : ""}`;
  return t(isMine ? `${key}_you` : key, { ...values, fallback: t(key, values) });
}
