/** Playing: choosing cards and places by mouse, finger or keyboard. What may be done is what the list
 * of legal actions holds; the rest asks the service why not (a dry run) and shows its answer.
 */

import { short, spoken, worthOfAll } from "./cards.js";
import { $, $$, h, icon, patch, set } from "./dom.js";
import { number, t } from "./i18n.js";
import { kept } from "./keep.js";
import { proposals, takesOf, targetsOf } from "./legal.js";
import { actionText } from "./names.js";
import { noteOnPile } from "./view.js";

const DRAG_PX = 7;
const MOST_PROPOSALS = 6;

/**
 * Draw the buttons below the hand: every action that the chosen cards allow.
 * @param {any} ui
 */
export function drawActions(ui) {
  const items = ui.isMine ? buttonsOf(ui) : [];
  patch(
    $("#actions"),
    items,
    (item) => item.key,
    (item) => h("button", { "data-act": item.key }),
    (element, item) => {
      element.className = `act ${item.kind}`;
      element.item = item;
      set(element, {
        text: item.text,
        "aria-disabled": !item.action && !item.choose && "true",
        "aria-label": item.label ?? null,
        "aria-keyshortcuts": item.shortcut ?? null,
      });
    },
  );
}

function buttonsOf(ui) {
  return ui.game.deal.phase === "draw" ? drawButtons(ui) : meldButtons(ui);
}

function drawButtons({ game }) {
  const find = (type) => game.legal_actions.find((action) => action.type === type);
  return [
    find("draw_stock") && { key: "draw", kind: "main", text: t("action.draw_stock"), action: find("draw_stock"), shortcut: "s" },
    find("pass") && { key: "pass", kind: "main", text: t("action.pass"), action: find("pass") },
  ].filter(Boolean);
}

function meldButtons(ui) {
  const { game, selected } = ui;
  const targets = targetsOf(game.legal_actions, selected);
  const chosen = [...selected];
  const layOffs = [...targets.layOffs.values()].map((action) => ({
    key: `lay:${action.meld}`,
    kind: "main",
    text: t("act.lay_off", { meld: action.meld }),
    label: actionText(action, spoken),
    action,
  }));
  return [
    {
      key: "meld",
      kind: targets.meld ? "main" : "",
      text: targets.meld ? t("act.meld_worth", { worth: number(worthOfAll(chosen) * (targets.meld.cards.length === 4 && new Set(targets.meld.cards.map((card) => card[0])).size === 1 ? 2 : 1)) }) : t("act.meld"),
      action: targets.meld,
      guess: chosen.length ? { type: "meld", cards: chosen } : null,
      shortcut: "m",
    },
    ...layOffs,
    {
      key: "discard",
      kind: targets.discard ? "main" : "",
      text: targets.discard ? t("act.discard_card", { card: short(targets.discard.card) }) : t("act.discard"),
      label: targets.discard ? actionText(targets.discard, spoken) : null,
      action: targets.discard,
      guess: chosen.length === 1 ? { type: "discard", card: chosen[0] } : null,
      hint: chosen.length > 1 ? "refuse.one" : null,
      shortcut: "d",
    },
    ...(selected.size ? [] : proposalButtons(game)),
  ];
}

const proposalButtons = (game) =>
  proposals(game.legal_actions, MOST_PROPOSALS).map((action) => ({
    key: `show:${action.type}:${action.meld ?? ""}:${action.cards.join("")}`,
    kind: "proposal",
    text: action.cards.map(short).join(" ") + (action.meld ? ` → ${action.meld}` : ""),
    label: t("act.choose", { what: actionText(action, spoken) }),
    choose: action.cards,
  }));

/**
 * Listen to mouse, finger and keyboard.
 * @param {any} ui
 * @param {{play: (action: any) => void, explain: (guess: any | null, key?: string) => void,
 *   redraw: () => void, calm: () => void, hint: () => void}} deeds
 */
export function wirePlay(ui, deeds) {
  const select = (cards) => {
    deeds.calm();
    ui.selected = new Set(cards);
    deeds.redraw();
  };
  const press = (item) => {
    if (item.choose) select(item.choose);
    else if (item.action) deeds.play(item.action);
    else deeds.explain(item.guess, item.hint);
  };
  $("#actions").addEventListener("click", (event) => {
    const button = event.target.closest("[data-act]");
    if (button) press(button.item);
  });
  $("#hand").addEventListener("click", (event) => {
    const card = event.target.closest("[data-card]")?.dataset.card;
    if (!card) return;
    ui.stop = card;
    select(ui.selected.has(card) ? [...ui.selected].filter((one) => one !== card) : [...ui.selected, card]);
  });
  $("#stock").addEventListener("click", () => dropOn(ui, deeds, { from: "stock" }, "hand"));
  $("#pile").addEventListener("click", (event) => {
    const card = event.target.closest("[data-pile]")?.dataset.pile;
    if (card && ui.isMine && ui.game.deal.phase === "draw") dropOn(ui, deeds, { from: "pile", card }, "hand");
    else if (ui.selected.size) dropOn(ui, deeds, { from: "hand" }, "pile");
    else if (card && ui.isMine) deeds.explain({ type: "take_discards", card });
  });
  $("#melds").addEventListener("click", (event) => {
    const zone = event.target.closest("[data-drop]")?.dataset.drop;
    if (zone && ui.isMine) dropOn(ui, deeds, { from: "hand" }, zone);
  });
  wireNotes(ui);
  wireKeys(ui, deeds, press, select);
  wireDrag(ui, deeds);
}

/** What is meant by bringing `load` to `zone`: play it, or ask why it cannot be. */
function dropOn(ui, deeds, load, zone) {
  if (!ui.isMine) return deeds.explain(null);
  const legal = ui.game.legal_actions;
  const chosen = [...ui.selected];
  const targets = targetsOf(legal, ui.selected);
  const does = (action, guess, key) => (action ? deeds.play(action) : deeds.explain(guess, key));
  if (load.from === "stock") {
    return does(legal.find((action) => action.type === "draw_stock"), { type: "draw_stock" });
  }
  if (load.from === "pile") {
    const guess = { type: "take_discards", card: load.card };
    return does(takesOf(ui.game).has(load.card) ? guess : null, guess);
  }
  if (!chosen.length) return deeds.explain(null, "refuse.none");
  if (zone === "pile") {
    const guess = chosen.length === 1 ? { type: "discard", card: chosen[0] } : null;
    return does(targets.discard, guess, "refuse.one");
  }
  if (zone === "new") return does(targets.meld, { type: "meld", cards: chosen });
  const meld = zone.slice("meld:".length);
  return does(targets.layOffs.get(meld), { type: "lay_off", cards: chosen, meld });
}

function wireNotes(ui) {
  const pile = $("#pile");
  const show = (event) => noteOnPile(ui, event.target.closest?.("[data-pile]")?.dataset.pile ?? null);
  pile.addEventListener("pointerover", show);
  pile.addEventListener("focusin", show);
  pile.addEventListener("pointerleave", () => noteOnPile(ui, null));
  pile.addEventListener("focusout", () => noteOnPile(ui, null));
}

/** Arrow keys within a row of cards; Escape; letters while the table has the focus. */
function wireKeys(ui, deeds, press, select) {
  for (const row of [$("#hand"), $("#pile"), $("#melds")]) {
    row.addEventListener("keydown", (event) => {
      const stops = $$("button", row);
      const at = stops.indexOf(document.activeElement);
      const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: stops.length - 1 }[event.key];
      if (to === undefined || at < 0) return;
      event.preventDefault();
      const next = stops[Math.max(0, Math.min(stops.length - 1, to))];
      for (const stop of stops) stop.tabIndex = stop === next ? 0 : -1;
      if (row.id === "hand") ui.stop = next.dataset.card;
      next.focus();
    });
  }
  const onKey = (event) => {
    if (event.key === "Escape" && (ui.selected.size || $("#refusal").firstChild)) return select([]);
    if (event.ctrlKey || event.metaKey || event.altKey || !kept("keys", true)) return undefined;
    if (event.key === "h") return deeds.hint();
    const button = $$("#actions button").find((one) => one.item.shortcut === event.key);
    if (button) return press(button.item);
    // What there is no button for now: the service says why not.
    const guess = guessOf(event.key, ui);
    return guess && deeds.explain(guess);
  };
  addEventListener("keydown", (event) => {
    const isHere = [$("#table"), $("#dock")].some((part) => part.contains(event.target));
    if (ui.game?.deal && !ui.replay && (isHere || event.target === document.body)) onKey(event);
  });
}

/** What a letter asks for, with the chosen cards or any. */
function guessOf(key, { game, selected }) {
  const cards = selected.size ? [...selected] : game.deal.hand;
  return { s: { type: "draw_stock" }, m: { type: "meld", cards }, d: { type: "discard", card: cards[0] ?? "X1" } }[key];
}

/** Dragging, for mouse and finger alike. Whatever it does can be done by clicks too. */
function wireDrag(ui, deeds) {
  let drag = null;

  const loadOf = (target) => {
    const card = target.closest("[data-card]")?.dataset.card;
    if (card) return { from: "hand", card };
    const taken = target.closest("[data-pile]")?.dataset.pile;
    if (taken && takesOf(ui.game).has(taken)) return { from: "pile", card: taken };
    return target.closest("#stock") ? { from: "stock" } : null;
  };

  addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !ui.isMine || !(event.target instanceof Element)) return;
    const load = loadOf(event.target);
    const source = event.target.closest("button");
    // A finger on the pile scrolls the table.
    if (!load || (load.from === "pile" && event.pointerType === "touch")) return;
    drag = { load, source, x: event.clientX, y: event.clientY, ghost: null, zone: null };
  });

  addEventListener("pointermove", (event) => {
    if (!drag) return;
    if (!drag.ghost) {
      if (Math.hypot(event.clientX - drag.x, event.clientY - drag.y) < DRAG_PX) return;
      begin();
    }
    drag.ghost.style.transform = `translate(${event.clientX}px, ${event.clientY}px)`;
    const zone = document.elementFromPoint(event.clientX, event.clientY)?.closest("[data-drop]");
    if (zone === drag.zone) return;
    drag.zone?.removeAttribute("data-over");
    drag.zone = zone;
    zone?.setAttribute("data-over", "");
  });

  function begin() {
    const { load } = drag;
    if (load.from === "hand" && !ui.selected.has(load.card)) {
      ui.selected = new Set([load.card]);
      deeds.redraw();
    }
    const sources = load.from === "hand" ? $$("#hand [aria-pressed=true] svg") : $$("svg", drag.source);
    drag.ghost = h("div.ghost", { "aria-hidden": "true" }, sources.map((source) => source.cloneNode(true)));
    document.body.append(drag.ghost);
    document.body.dataset.dragging = load.from;
  }

  const end = (event) => {
    if (!drag) return;
    const { load, ghost, zone } = drag;
    drag = null;
    if (!ghost) return;
    ghost.remove();
    zone?.removeAttribute("data-over");
    delete document.body.dataset.dragging;
    // The click that follows belongs to the drag.
    addEventListener("click", stop, { capture: true, once: true });
    setTimeout(() => removeEventListener("click", stop, { capture: true }), 50);
    if (event.type === "pointercancel" || !zone) return;
    const isToHand = zone.dataset.drop === "hand";
    if (isToHand !== (load.from === "hand")) dropOn(ui, deeds, load, zone.dataset.drop);
  };
  const stop = (event) => {
    event.stopPropagation();
    event.preventDefault();
  };
  addEventListener("pointerup", end);
  addEventListener("pointercancel", end);
  // A browser's own dragging of pictures would end ours.
  addEventListener("dragstart", (event) => event.preventDefault());
}

/** The line above the hand: whose turn it is and what is to be done. */
export function turnText(ui) {
  const { game } = ui;
  const { deal } = game;
  if (game.status !== "playing" || deal.phase === "over") return " ";
  if (!ui.isMine) {
    if (deal.turn === game.viewer) return t("turn.wait");
    return t("turn.other", { name: game.seats[deal.turn].name });
  }
  if (deal.phase === "draw") {
    if (deal.stock_count === 0) return t(takesOf(game).size ? "turn.empty_take" : "turn.empty");
    return t(takesOf(game).size ? "turn.draw_take" : "turn.draw");
  }
  if (deal.due) return t("turn.due", { card: short(deal.due) });
  return t("turn.meld");
}

/** The tools beside the turn: sorting, hint, bot, skipping. */
export function drawTools(ui, deeds) {
  const isOn = ui.game.viewer !== null && ui.replay === null;
  const hasBot = isOn && ui.game.seats[ui.game.viewer].player === "bot";
  const isBehind = ui.show !== null && !ui.show.isSettled && ui.show.queue.length > 0;
  const items = [
    { key: "sort", icon: "sort", text: t(ui.order === "suit" ? "tool.by_rank" : "tool.by_suit"), deed: deeds.sort },
    isOn && { key: "hint", icon: "bulb", text: t("tool.hint"), deed: deeds.hint, isOff: !ui.isMine },
    isOn && !hasBot && { key: "bot", icon: "bot", text: t("tool.bot"), deed: deeds.bot, isOff: !ui.isMine },
    hasBot && { key: "back", icon: "bot", text: t("tool.back"), deed: deeds.back },
    { key: "side", icon: "list", text: t("tool.side"), deed: deeds.side },
    isBehind && { key: "skip", icon: "skip", text: t("tool.skip"), deed: deeds.skip },
  ].filter(Boolean);
  patch(
    $("#dock-tools"),
    items,
    (item) => item.key,
    (item) => h(`button.tool.tool-${item.key}`, { onclick: item.deed }, icon(item.icon), h("span")),
    (element, item) => {
      set($("span", element), { text: item.text });
      set(element, { "aria-label": item.text, title: item.text, "aria-disabled": item.isOff && "true" });
    },
  );
}
