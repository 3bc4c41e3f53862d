/** The table as it is drawn: opponents, piles, melds, the own hand. Draws a GAME, changes nothing. */

import { back, face, short, sorted, spoken, worthOf } from "./cards.js";
import { $, h, patch, set } from "./dom.js";
import { number, t } from "./i18n.js";
import { badge, levelName, nameOf, placeOf } from "./names.js";
import { fitting, takesOf, targetsOf } from "./legal.js";

const PLACES = ["below", "left", "above", "right"];

/** Draw all. `ui` holds `game`, `selected`, `order`, `isMine` (the viewer may act now). */
export function drawTable(ui) {
  drawOthers(ui);
  drawStock(ui);
  drawPile(ui);
  drawMelds(ui);
  drawHand(ui);
  layOut();
}

function chipsOf(game, seat) {
  const { deal } = game;
  const holder = game.seats[seat];
  const chips = [
    holder.player === "bot" && h("span", {}, levelName(holder.level)),
    deal.dealer === seat && h("span", {}, t("seat.dealer")),
    deal.hand_counts[seat] === 0 && deal.phase !== "over" && h("span.floats", {}, t("seat.floats")),
  ].filter(Boolean);
  return chips.length > 0 && h("span.chips", {}, chips.flatMap((chip, place) => (place ? [" · ", chip] : [chip])));
}

/** Name, mark and state of a seat. */
export function drawPlate(element, game, seat) {
  const isTurn = game.deal.turn === seat && game.status === "playing" && game.deal.phase !== "over";
  element.dataset.turn = isTurn;
  const parts = [
    badge(game, seat),
    h("span.name", {}, nameOf(game, seat)),
    isTurn && h("span.unseen", {}, t("seat.turn")),
    chipsOf(game, seat),
  ];
  element.replaceChildren(...parts.filter(Boolean));
}

function drawOthers({ game }) {
  const seats = [1, 2, 3].map((step) => ((game.viewer ?? 0) + step) % 4);
  patch(
    $("#others"),
    seats,
    String,
    (seat) => h(`article.seat.at-${PLACES[placeOf(game, seat)]}`, {}, h("div.plate"), h("ul.fan")),
    (element, seat) => {
      drawPlate($(".plate", element), game, seat);
      drawFan($(".fan", element), game, seat);
      set(element, { "data-seat": seat, "aria-label": nameOf(game, seat), "data-turn": game.deal.turn === seat });
    },
  );
}

/** A hand from outside: backs, and face up what all have seen (R33). */
function drawFan(fan, game, seat) {
  const known = game.deal.known_cards[seat];
  const count = game.deal.hand_counts[seat];
  const hidden = count - known.length;
  const keys = [...Array.from({ length: hidden }, (_, place) => `?${place}`), ...known];
  patch(
    fan,
    keys,
    (key) => key,
    (key) => h("li", key[0] === "?" ? { "aria-hidden": "true" } : { "data-fly": key, "aria-hidden": "true" }, key[0] === "?" ? back() : face(key)),
    () => {},
  );
  fan.style.setProperty("--n", Math.max(count, 1));
  const words = known.length ? t("seat.known", { cards: known.map(spoken).join(", ") }) : "";
  let label = $(".fan-label", fan.parentElement);
  if (!label) fan.after((label = h("p.fan-label")));
  label.replaceChildren(h("span", {}, t("cards", { count })), h("span.unseen", {}, words));
}

function drawStock({ game, isMine }) {
  const stock = $("#stock");
  const count = game.deal.stock_count;
  const isLegal = isMine && game.legal_actions.some((action) => action.type === "draw_stock");
  if (!stock.firstChild) stock.append(back());
  set(stock, {
    "data-depth": Math.min(3, Math.ceil(count / 9)),
    "data-target": isLegal,
    "aria-disabled": !isLegal && "true",
    "aria-label": t(isLegal ? "stock.draw" : "stock.label", { count }),
  });
  set($("#stock-count"), { text: t("stock.count", { count }), "aria-hidden": "true" });
}

function drawPile(ui) {
  const { game } = ui;
  const pile = game.deal.discard_pile;
  const takes = ui.isMine ? takesOf(game) : new Set();
  const canDiscard = ui.isMine && targetsOf(game.legal_actions, ui.selected).discard !== null;
  set($("#pile-head"), { text: t("pile.head", { count: pile.length }) });
  set($("#pile"), { "data-target": canDiscard, "data-takes": takes.size > 0 });
  patch(
    $("#pile"),
    pile,
    (card) => card,
    (card) => h("li", {}, h("button.card", { "data-pile": card, "data-fly": card }, face(card))),
    (element, card, index) => {
      const above = pile.slice(index + 1);
      const isLegal = takes.has(card);
      const label = isLegal ? takeLabel(card, above) : t("pile.card", { card: spoken(card), place: index + 1, count: pile.length });
      set(element.firstChild, {
        "data-legal": isLegal,
        "aria-disabled": !isLegal && "true",
        "aria-label": label,
        tabindex: index === pile.length - 1 ? 0 : -1,
      });
    },
  );
  noteOnPile(ui, pile.includes(ui.noted) ? ui.noted : null);
}

const takeLabel = (card, above) =>
  t(above.length ? "pile.take_more" : "pile.take", {
    card: spoken(card),
    count: above.length,
    cards: above.map(spoken).join(", "),
  });

/** Say, and mark, what taking `card` would bring; null: what can be taken at all. */
export function noteOnPile(ui, card) {
  ui.noted = card;
  const pile = ui.game.deal?.discard_pile ?? [];
  const takes = ui.isMine ? takesOf(ui.game) : new Set();
  const from = card !== null && takes.has(card) ? pile.indexOf(card) : Infinity;
  [...$("#pile").children].forEach((element, index) => {
    set(element.firstChild, { "data-comes": index > from, "data-wanted": index === from });
  });
  const note = $("#pile-note");
  if (from < Infinity) {
    const above = pile.slice(from + 1);
    set(note, {
      text: t(above.length ? "pile.note_more" : "pile.note", {
        card: short(card), count: above.length, cards: above.map(short).join(" "),
      }),
    });
  } else if (takes.size) set(note, { text: t("pile.may", { count: takes.size }) });
  else set(note, { text: ui.isMine && ui.game.deal.phase === "draw" ? t("pile.none") : " " });
}

function drawMelds(ui) {
  const { game } = ui;
  const targets = ui.isMine ? targetsOf(game.legal_actions, ui.selected) : targetsOf([], ui.selected);
  const wantsNew = ui.isMine && game.deal.phase === "meld";
  const items = [...game.deal.melds, ...(wantsNew ? [{ id: "new" }] : [])];
  patch(
    $("#melds"),
    items,
    (meld) => meld.id,
    (meld) => (meld.id === "new" ? makeNewMeld() : makeMeld(meld)),
    (element, meld) => {
      if (meld.id === "new") {
        set(element.firstChild, { "data-target": targets.meld !== null, "aria-disabled": targets.meld === null && "true" });
        set($("span", element), { text: t("meld.new") });
      } else updateMeld(element, meld, game, targets);
    },
  );
  const isEmpty = game.deal.melds.length === 0 && !wantsNew;
  set($("#melds"), { "data-empty": isEmpty ? t("meld.none") : null });
}

const makeNewMeld = () =>
  h("li.meld-place", {}, h("button.meld.new", { "data-new": true, "data-drop": "new" }, h("span")));

const makeMeld = (meld) =>
  h(
    "li.meld-place",
    {},
    h(
      "button.meld",
      { "data-meld": meld.id, "data-drop": `meld:${meld.id}` },
      h("span.meld-head", { "aria-hidden": "true" }, h("span.meld-id"), h("span.meld-kind"), h("span.meld-worth")),
      h("span.meld-cards", { "aria-hidden": "true" }),
    ),
  );

function updateMeld(element, meld, game, targets) {
  const button = element.firstChild;
  const worth = meld.cards.reduce((sum, card) => sum + worthOf(card), 0) * (meld.doubled ? 2 : 1);
  set($(".meld-id", button), { text: meld.id });
  set($(".meld-kind", button), { text: t(`kind.${meld.kind}`) });
  set($(".meld-worth", button), { text: meld.doubled ? `${number(worth)} ×2` : number(worth) });
  patch(
    $(".meld-cards", button),
    meld.cards,
    (card) => card,
    (card) => h("span.laid", {}, h("span.laid-card", { "data-fly": card }, face(card)), h("span")),
    (cell, card, index) => {
      const mark = badge(game, meld.laid_by[index]);
      if (cell.lastChild.textContent !== mark.textContent || cell.lastChild.className !== mark.className) cell.lastChild.replaceWith(mark);
    },
  );
  const laid = meld.cards.map((card, index) => t("meld.by", { card: spoken(card), name: nameOf(game, meld.laid_by[index]) }));
  const isTarget = targets.layOffs.has(meld.id);
  set(button, {
    "data-target": isTarget,
    "aria-disabled": !isTarget && "true",
    "aria-label": t(isTarget ? "meld.target" : "meld.label", {
      meld: meld.id, kind: t(`kind.${meld.kind}`), cards: laid.join("; "), worth: number(worth),
    }),
  });
}

function drawHand(ui) {
  const { game } = ui;
  const hand = $("#hand");
  const cards = game.viewer === null
    ? Array.from({ length: game.deal.hand_counts[0] }, (_, place) => `?${place}`)
    : sorted(game.deal.hand, ui.order);
  const fits = ui.isMine && game.deal.phase === "meld" ? fitting(game.legal_actions, ui.selected) : new Set();
  const focused = hand.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  const stop = cards.includes(focused) ? focused : (cards.includes(ui.stop) ? ui.stop : cards[0]);
  const place = focused ? [...hand.children].findIndex((child) => child.dataset.key === focused) : -1;
  patch(
    hand,
    cards,
    (card) => card,
    (card) =>
      card[0] === "?"
        ? h("span.card.hand-card", { "aria-hidden": "true" }, back())
        : h("button.card.hand-card", { "data-card": card, "data-fly": card }, face(card)),
    (element, card) => {
      if (card[0] === "?") return;
      const isDue = game.deal.due === card && ui.isMine;
      set(element, {
        "aria-pressed": String(ui.selected.has(card)),
        "aria-label": isDue ? t("hand.due", { card: spoken(card) }) : spoken(card),
        "data-due": isDue,
        "data-fits": fits.has(card) && !ui.selected.has(card),
        tabindex: card === stop ? 0 : -1,
      });
    },
  );
  // The card that had the focus went to the table: the focus goes to its neighbour, not away.
  if (focused && !cards.includes(focused)) (hand.children[Math.min(place, cards.length - 1)] ?? hand).focus();
  set(hand, { "data-empty": cards.length ? null : t("hand.empty") });
}

/** Spread hand and pile over the room there is; a card shows at least a finger's breadth. */
export function layOut() {
  spread($("#hand"), 26);
  spread($("#pile"), 25);
  fitMelds();
}

const SMALLEST_MELD_CARD = 36;

/** Draw melds smaller, as far as they can still be read, where the table has no room for all. */
function fitMelds() {
  const [table, melds] = [$("#table"), $("#melds")];
  melds.style.removeProperty("--cw");
  let width = parseFloat(getComputedStyle(melds).getPropertyValue("--cw"));
  while (table.scrollHeight > table.clientHeight && width > SMALLEST_MELD_CARD) {
    width = Math.max(SMALLEST_MELD_CARD, width - 4);
    melds.style.setProperty("--cw", `${width}px`);
  }
}

function spread(row, least) {
  const width = parseFloat(getComputedStyle(row).getPropertyValue("--cw")) || 60;
  const count = row.children.length;
  const whole = row.id === "pile" ? $(".piles").clientWidth - $(".stock-place").offsetWidth - 26 : row.clientWidth;
  const room = whole - width - 2;
  const step = count > 1 ? Math.min(width * (row.id === "hand" ? 1.06 : 0.62), Math.max(least, room / (count - 1))) : width;
  row.style.setProperty("--step", `${Math.floor(step * 10) / 10}px`);
}
