/** Replaying a finished game with all cards open, from the service or from a record file. */

import { Client, Problem } from "./api.js";
import { $, h, icon, set } from "./dom.js";
import { readLog } from "./end.js";
import { t } from "./i18n.js";
import { kept, tokenOf } from "./keep.js";
import { eventText } from "./names.js";
import { PACES } from "./pace.js";
import { openGame } from "./shuffle.js";

/**
 * What a record holds of a game: `{game, events}`. A record is what `GET /games/{id}/record` answers,
 * or GAME with its log, `{game, actions}`, as this page saves it where there is no such route.
 */
export function readRecord(record) {
  const game = record.game ?? record;
  const events = record.actions ?? (record.deals ?? []).flatMap(eventsOfDeal);
  const isWhole = game.fairness?.seed && game.seats?.length === 4 && game.seating && events.length;
  if (!isWhole) throw new Error(t("replay.bad"));
  return { game: { ...game, deals: record.deals?.length ?? game.deals }, events };
}

const eventsOfDeal = ({ number, actions, score }) =>
  actions.map((action, place) => ({
    ...action,
    type: "played",
    deal: number,
    ...(place === actions.length - 1 ? { deal_score: score } : {}),
  }));

/** Show every state of a game, to be walked through. */
export class Replay {
  /** @param {(game: any, event: any, isNext: boolean) => void} onShow @param {() => void} onClose */
  constructor(onShow, onClose) {
    this.onShow = onShow;
    this.onClose = onClose;
    this.frames = [];
    this.at = 0;
    /** What is shown, in words. */
    this.text = "";
    this.timer = null;
  }

  async open({ game, events }, version = null) {
    const { frames } = await openGame(game, events);
    const base = game.viewer ?? 0;
    this.frames = frames.map(({ game: state, event }) => ({
      event,
      game: { ...state, viewer: base, deal: { ...state.deal, hand: state.deal.hands[base], known_cards: state.deal.hands } },
    }));
    const found = version === null ? 0 : this.frames.findIndex((frame) => frame.event?.version === version) - 1;
    this.#controls();
    this.show(Math.max(found, 0));
  }

  show(place) {
    const was = this.at;
    this.at = Math.max(0, Math.min(this.frames.length - 1, place));
    const { game, event } = this.frames[this.at];
    const text = event ? eventText(game, event) : t("replay.deal", { number: game.deal.number });
    this.text = t("replay.at", { at: this.at, count: this.frames.length - 1, text });
    this.onShow(game, event, this.at === was + 1);
    const slider = $("#replay-slider");
    slider.value = this.at;
    slider.setAttribute("aria-valuetext", text);
    if (this.at === this.frames.length - 1) this.pause();
  }

  /** The events up to the state that is shown. */
  eventsSoFar() {
    return this.frames.slice(0, this.at + 1).map((frame) => frame.event).filter(Boolean);
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    this.#label("play");
  }

  #toggle() {
    if (this.timer) return this.pause();
    if (this.at === this.frames.length - 1) this.show(0);
    this.#label("pause");
    this.timer = setInterval(() => this.show(this.at + 1), Math.max(PACES[kept("pace", "normal")], 200));
    return undefined;
  }

  /** What the button in the middle does next. */
  #label(does) {
    const button = $("#replay-play");
    if (!button) return;
    set($("span", button), { text: t(`replay.${does}`) });
    $("svg", button).replaceWith(icon(does));
  }

  #controls() {
    const button = (does, onclick, id = null) => h("button.act", { onclick, id }, icon(does), h("span", {}, t(`replay.${does}`)));
    const slider = h("input", { type: "range", id: "replay-slider", min: 0, max: this.frames.length - 1, value: 0, "aria-label": t("replay.slider"), oninput: () => this.show(Number(slider.value)) });
    $("#actions").replaceChildren(
      button("back", () => this.show(this.at - 1)),
      button("play", () => this.#toggle(), "replay-play"),
      button("forward", () => this.show(this.at + 1)),
      slider,
      button("close", () => this.onClose()),
    );
  }
}

/** What the page `/replay` begins with: the game that its address names, or a file to choose. */
export async function openingOf(address, onRecord) {
  const id = address.get("game");
  if (id) {
    const seat = address.get("seat");
    const client = new Client(seat === null ? kept("app-key") : tokenOf(id, seat));
    return onRecord(readRecord({ game: await client.get(`/games/${id}`), actions: await readLog(client, id) }), Number(address.get("at")) || null);
  }
  const fault = h("p.fault", { role: "alert" });
  const input = h("input", { type: "file", accept: "application/json,.json", id: "replay-file" });
  input.addEventListener("change", async () => {
    try {
      await onRecord(readRecord(JSON.parse(await input.files[0].text())), null);
    } catch (error) {
      set(fault, { text: error instanceof Problem || error.message === t("replay.bad") ? error.message : t("replay.bad") });
    }
  });
  const welcome = $("#welcome");
  welcome.hidden = false;
  welcome.replaceChildren(h("div.card-panel", {}, h("h2", {}, t("replay.heading")), h("p", {}, t("replay.text")), h("label.field", {}, h("span", {}, t("replay.file")), input), fault));
  return undefined;
}

