/** After the end: the score sheet, the check of the shuffle, the record, another game. */

import { offers } from "./api.js";
import { $, h, isStill } from "./dom.js";
import { lang, number, t } from "./i18n.js";
import { kept } from "./keep.js";
import { teamName } from "./names.js";
import { drawReview } from "./review.js";
import { scoreTable } from "./dialogs.js";
import { checkDecks, checkGame } from "./shuffle.js";

/** The whole log of a game, page by page. */
export async function readLog(client, id) {
  const all = [];
  for (;;) {
    const { actions } = await client.get(`/games/${id}/actions?since=${all.at(-1)?.version ?? 0}`);
    if (!actions.length) return all;
    all.push(...actions);
  }
}

/** Save a text as a file of the reader's. */
export function saveFile(name, text, type) {
  const link = h("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/**
 * Draw what there is after the end.
 * @param {any} ui
 * @param {{rematch: () => void, newGame: () => void, replay: (frame?: number) => void,
 *   say: (text: string) => void}} deeds
 */
export async function drawResult(ui, deeds) {
  const { game } = ui;
  const root = $("#result");
  const isOver = game.status === "finished" || game.status === "abandoned";
  root.hidden = !isOver;
  $("#game").dataset.ended = isOver;
  if (!isOver) return root.replaceChildren();
  const state = `${game.id}:${game.version}:${document.documentElement.lang}`;
  if (root.dataset.state === state) return undefined;
  root.dataset.state = state;
  const buttons = h("div.form-foot", {}, h("button.act.main", { onclick: deeds.newGame }, t("end.new")));
  const extra = h("div", { id: "end-extra" });
  root.replaceChildren(h("h2", { id: "result-head", tabindex: "-1" }, headline(game)), ...(game.status === "finished" ? [scoreTable(game, { withNow: false })] : []), buttons, extra);
  if (game.status !== "finished") return undefined;
  return addButtons(ui, deeds, buttons, extra);
}

function headline(game) {
  if (game.status === "abandoned") return t("end.abandoned");
  // Who looks on is told of the winners first.
  const first = game.viewer === null ? game.winner ?? 0 : game.viewer % 2;
  const [ours, theirs] = [game.scores[first], game.scores[1 - first]];
  const values = { ours: number(ours), theirs: number(theirs) };
  if (game.winner === null) return t("end.draw", values);
  if (game.viewer === null) return t("end.team", { ...values, team: teamName(game, game.winner) });
  return t(game.winner === game.viewer % 2 ? "end.won" : "end.lost", values);
}

async function addButtons(ui, deeds, buttons, extra) {
  const { client, id } = ui;
  const add = (key, onclick) => buttons.append(h("button.act", { "data-end": key, onclick }, t(`end.${key}`)));
  const show = (drawn) => {
    extra.scrollIntoView({ block: "start", behavior: isStill() ? "auto" : "smooth" });
    return drawn;
  };
  // What this service does not offer is not shown.
  if (await offers("/games/{game_id}/rematch")) add("rematch", () => deeds.rematch());
  if (await offers("/games/{game_id}/review")) add("review", () => show(drawReview(ui, deeds, extra)));
  add("replay", () => deeds.replay());
  add("check", () => show(showCheck(ui, deeds, extra)));
  add("save", () => saveRecord(ui));
  if (await offers("/games/{game_id}/record.svg")) add("picture", () => savePicture(ui));
}

async function saveRecord({ client, id, game }) {
  const hasRoute = await offers("/games/{game_id}/record");
  const record = hasRoute ? await client.get(`/games/${id}/record`) : { game, actions: await readLog(client, id) };
  saveFile(`persian-rummy-${id}.json`, JSON.stringify(record, null, 1), "application/json");
}

async function savePicture({ client, id }) {
  const picture = await client.get(`/games/${id}/record.svg?lang=${lang()}`);
  saveFile(`persian-rummy-${id}.svg`, picture, "image/svg+xml");
}

async function showCheck(ui, deeds, extra) {
  const { client, id, game } = ui;
  const list = h("ul.checks", { "aria-label": t("check.heading") });
  extra.replaceChildren(h("h3", {}, t("check.heading")), h("p.note", {}, t("check.text")), list);
  if (!crypto.subtle) return list.append(h("li", {}, t("check.insecure")));
  const { results } = await checkGame(game, await readLog(client, id), kept(`commitment:${id}`) ?? game.fairness.commitment);
  if (await offers("/games/{game_id}/record")) results.push(await checkDecks(await client.get(`/games/${id}/record`)));
  for (const { key, isRight, values } of results) {
    list.append(h("li", { "data-right": String(isRight), "data-check": key }, h("span.tick", { "aria-hidden": "true" }, isRight ? "✓" : "✗"), h("span.unseen", {}, t(isRight ? "check.right" : "check.wrong")), ` ${t(`check.${key}`, values)}`, isRight || !values.faults ? "" : ` ${values.faults}`));
  }
  const isAll = results.every((result) => result.isRight);
  extra.append(h("p.verdict", { "data-right": String(isAll) }, t(isAll ? "check.all" : "check.not_all")));
  deeds.say(t(isAll ? "check.all" : "check.not_all"));
  return undefined;
}
