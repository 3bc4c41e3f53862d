/** Advice: asking for it, and a bar for each candidate while the search runs. */

import { Problem } from "./api.js";
import { inSigns, short } from "./cards.js";
import { $, h, patch, set } from "./dom.js";
import { number, percent, t } from "./i18n.js";
import { keep, kept } from "./keep.js";
import { isEqual } from "./legal.js";
import { actionText } from "./names.js";

const LOOK_MS = 200;
const MOST_SHOWN = 6;
const SECONDS = [0.5, 1, 3, 10];
const PARTS = ["table_now", "melds_own", "melds_theirs", "bonus", "hands_own", "hands_theirs"];

export class Hints {
  /** @param {any} ui @param {{play: (action: any) => void, say: (text: string) => void, refuse: (text: string) => void}} deeds */
  constructor(ui, deeds) {
    this.ui = ui;
    this.deeds = deeds;
    this.hint = null;
    this.fault = null;
  }

  /** Forget what was advised; a search that still runs is cancelled. */
  clear() {
    if (this.hint && ["queued", "running"].includes(this.hint.status)) this.cancel();
    this.hint = null;
    this.fault = null;
    this.draw();
  }

  async ask() {
    if (!this.ui.isMine) return this.deeds.refuse(t("hint.not_now"));
    const { client, id, game } = this.ui;
    this.fault = null;
    try {
      this.hint = await client.post(`/games/${id}/hints`, { seconds: kept("hint-seconds", 1) });
      this.draw();
      await this.#follow(game.version);
    } catch (error) {
      this.hint = null;
      this.fault = error instanceof Problem ? error.message : t("fault.away");
    }
    this.draw();
    return undefined;
  }

  async #follow(version) {
    const { client, id } = this.ui;
    while (this.hint && ["queued", "running"].includes(this.hint.status)) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      if (!this.hint || this.ui.game.version !== version) return;
      const hint = await client.get(`/games/${id}/hints/${this.hint.id}`, { isPoll: true });
      if (!this.hint || this.hint.id !== hint.id) return;
      this.hint = hint;
      this.draw();
    }
    if (this.hint?.status === "done") this.deeds.say(t("hint.said", { action: actionText(this.hint.best) }));
    if (this.hint?.status === "failed") this.fault = this.hint.error;
  }

  /** Read the hint again: its sentences are in the language of the one who asks. */
  async retell() {
    if (this.hint?.status !== "done") return;
    const { client, id } = this.ui;
    const hint = await client.get(`/games/${id}/hints/${this.hint.id}`, { isPoll: true }).catch(() => null);
    if (!hint || this.hint?.id !== hint.id) return;
    this.hint = hint;
    this.draw();
  }

  async cancel() {
    const { client, id } = this.ui;
    const { hint } = this;
    this.hint = null;
    this.draw();
    await client.call("DELETE", `/games/${id}/hints/${hint.id}`).catch(() => {});
  }

  draw() {
    const root = $("#hint");
    if (!root.firstChild) root.append(this.#controls(), h("div", { id: "hint-answer" }));
    set($("#hint-ask"), { text: t("hint.ask"), "aria-disabled": !this.ui.isMine && "true" });
    set($("#hint-for"), { text: t("hint.for") });
    for (const option of $("#hint-seconds").options) set(option, { text: t("hint.seconds", { seconds: number(Number(option.value), { digits: option.value === "0.5" ? 1 : 0 }) }) });
    const answer = $("#hint-answer");
    if (this.fault) return answer.replaceChildren(h("p.note", {}, this.fault));
    if (!this.hint) return answer.replaceChildren(h("p.note", {}, t("hint.none")));
    return this.#drawAnswer(answer);
  }

  #controls() {
    const choice = h(
      "select",
      { id: "hint-seconds", onchange: (event) => keep("hint-seconds", Number(event.target.value)) },
      SECONDS.map((seconds) => h("option", { value: String(seconds) })),
    );
    choice.value = String(kept("hint-seconds", 1));
    return h(
      "div.hint-controls",
      {},
      h("button.act.main", { id: "hint-ask", onclick: () => this.ask() }),
      h("label", { for: "hint-seconds" }, h("span", { id: "hint-for" }), choice),
    );
  }

  #drawAnswer(answer) {
    const { hint } = this;
    const runs = ["queued", "running"].includes(hint.status);
    if (answer.dataset.hint !== hint.id || !answer.children[2]) {
      answer.dataset.hint = hint.id;
      answer.replaceChildren(h("div.progress", {}), h("p.note"), h("ol.candidates"), h("p.note.foot"));
    }
    const [bar, line, list, foot] = answer.children;
    this.#drawProgress(bar, runs);
    set(line, { text: this.#summary(runs), "data-empty": !this.#summary(runs) });
    const shown = hint.candidates.slice(0, MOST_SHOWN);
    const scale = scaleOf(shown);
    patch(
      list,
      shown,
      (candidate) => JSON.stringify(candidate.action),
      () => h("li.candidate"),
      (element, candidate, index) => this.#drawCandidate(element, candidate, index, scale),
    );
    const spent = hint.search;
    set(foot, { text: spent ? t("hint.spent", { rounds: number(spent.iterations), seconds: number(spent.seconds, { digits: 1 }) }) : " " });
  }

  #drawProgress(bar, runs) {
    if (!runs) return bar.replaceChildren();
    if (!bar.firstChild) {
      bar.append(
        h("progress", { max: 1, "aria-label": t("hint.progress") }),
        h("button.act", { onclick: () => this.cancel() }, t("cancel")),
      );
    }
    bar.firstChild.value = this.hint.progress;
    return undefined;
  }

  #summary(runs) {
    const [best] = this.hint.candidates;
    if (!best) return t("hint.queued");
    if (runs) return t("hint.running");
    const equal = this.hint.candidates.filter((one) => one.equal).length;
    return equal > 1 ? t("hint.equal", { count: equal }) : "";
  }

  #drawCandidate(element, candidate, index, scale) {
    const { game, isMine } = this.ui;
    const margin = candidate.expected_margin ?? 0;
    const signed = (value) => number(value, { signed: true, digits: 1 });
    const [low, high] = candidate.margin_interval ?? [];
    const isLegal = isMine && this.hint.version === game.version && game.legal_actions.some((one) => isEqual(one, candidate.action));
    const chance = candidate.win_probability;
    const isOpen = $("details", element)?.open ?? false;
    const isFocused = element.contains(document.activeElement) ? document.activeElement.tagName : null;
    set(element, { "data-best": index === 0, "data-equal": candidate.equal === true });
    element.replaceChildren(
      h(
        "div.candidate-head",
        {},
        h("strong", {}, actionText(candidate.action, short)),
        h("span.margin", {}, signed(margin)),
      ),
      barOf(margin, low, high, scale, t("hint.bar", { points: signed(margin), low: low === undefined ? "?" : signed(low), high: high === undefined ? "?" : signed(high) })),
      h(
        "div.candidate-foot",
        {},
        h("span", {}, chance === null || chance === undefined ? "" : t("hint.win", { chance: percent(chance) })),
        h("span", {}, low === undefined ? t("hint.visits", { count: candidate.visits, times: number(candidate.visits) }) : t("hint.interval", { low: signed(low), high: signed(high) })),
        isLegal && h("button.act", { "data-hint-play": index, onclick: () => this.deeds.play(candidate.action), "aria-label": t("hint.play_label", { action: actionText(candidate.action) }) }, t("hint.play")),
      ),
      ...[index === 0 ? reasonOf(candidate) : whyOf(candidate, isOpen), index === 0 && splitOf(candidate.split, signed, isOpen)].filter(Boolean),
    );
    if (isFocused) $(isFocused, element)?.focus();
  }
}

/** The range of points that the bars cover: all that is shown, and nought. */
function scaleOf(candidates) {
  const ends = candidates.flatMap((one) => one.margin_interval ?? [one.expected_margin ?? 0]);
  const low = Math.min(0, ...ends);
  const high = Math.max(0, ...ends);
  const span = Math.max(high - low, 10);
  return { low, span };
}

function barOf(margin, low, high, { low: start, span }, label) {
  const at = (points) => ((points - start) / span) * 100;
  const from = Math.min(at(0), at(margin));
  const bar = h("div.hint-bar", { role: "img", "aria-label": label }, h("span.nought"), h("span.fill", { "data-minus": margin < 0 }), low === undefined ? null : h("span.whisker"));
  const place = (selector, left, width) => {
    const part = $(selector, bar);
    part?.style.setProperty("left", `${left}%`);
    if (width !== undefined) part?.style.setProperty("width", `${width}%`);
  };
  place(".nought", at(0));
  place(".fill", from, Math.max(Math.abs(at(margin) - at(0)), 0.6));
  if (low !== undefined) place(".whisker", at(low), at(high) - at(low));
  return bar;
}

/** The reason as the service says it in the reader's language, with the signs of the suits. */
function reasonOf({ reason }) {
  return reason ? h("p.reason", {}, inSigns(reason.text)) : null;
}

/** The reason for a move that is not the best, behind a click. */
function whyOf(candidate, open) {
  const reason = reasonOf(candidate);
  return reason && h("details.why", { open }, h("summary", {}, t("hint.why")), reason);
}

function splitOf(split, signed, open) {
  if (!split) return null;
  return h(
    "details.split",
    { open },
    h("summary", {}, t("hint.split")),
    h("dl", {}, PARTS.filter((part) => part in split).flatMap((part) => [h("dt", {}, t(`split.${part}`)), h("dd", {}, signed(split[part]))])),
  );
}
