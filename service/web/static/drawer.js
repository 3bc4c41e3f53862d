/** The drawer "API": every call that the page made, as one could make it oneself. */

import { calls, curlOf, onCall } from "./api.js";
import { $, copy, h, icon, patch, set } from "./dom.js";
import { lang, t } from "./i18n.js";
import { kept, keep } from "./keep.js";

const MOST_TEXT = 20_000;
const DETAIL = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

export class Drawer {
  /** @param {() => string | null} tokenOf the token in use, for who wants to try the lines */
  constructor(tokenOf) {
    this.tokenOf = tokenOf;
    this.open = new Set();
    onCall(() => this.isOpen && this.#soon());
  }

  get isOpen() {
    return !$("#drawer").hidden;
  }

  toggle(isOpen = !this.isOpen) {
    const drawer = $("#drawer");
    drawer.hidden = !isOpen;
    document.body.dataset.drawer = isOpen;
    set($('[data-do="api"]'), { "aria-expanded": String(isOpen) });
    if (!isOpen) return $('[data-do="api"]').focus();
    this.draw();
    return $("#drawer-head").focus();
  }

  #soon() {
    this.timer ??= setTimeout(() => {
      this.timer = null;
      if (this.isOpen) this.#drawList();
    }, 100);
  }

  /** Draw it with the words of the language in use. */
  draw() {
    const polls = h("input", { type: "checkbox", onchange: () => { keep("show-polls", polls.checked); this.#drawList(); } });
    polls.checked = kept("show-polls", false);
    $("#drawer").replaceChildren(
      h(
        "div.drawer-head",
        {},
        h("h2", { id: "drawer-head", tabindex: "-1" }, t("drawer.heading")),
        h("button.tool", { "aria-label": t("close"), onclick: () => this.toggle(false) }, icon("close")),
      ),
      h("p.note", {}, t("drawer.text"), " ", h("a", { href: `/docs?lang=${lang()}` }, t("drawer.docs"))),
      h("div.drawer-tools", {}, h("label.check", {}, polls, h("span", {}, t("drawer.polls"))), this.#tokenButton()),
      h("ol.calls", { id: "calls" }),
    );
    this.#drawList();
  }

  #tokenButton() {
    const token = this.tokenOf();
    if (!token) return null;
    const button = h("button.act", {}, t("drawer.token"));
    button.addEventListener("click", async () => {
      set(button, { text: t((await copy(`TOKEN=${token}`)) ? "copied" : "copy_failed") });
    });
    return button;
  }

  #drawList() {
    const shown = calls.filter((call) => !call.isPoll || kept("show-polls", false)).reverse();
    patch(
      $("#calls"),
      shown,
      (call) => String(call.id),
      (call) => this.#make(call),
      (element, call) => this.#update(element, call),
    );
  }

  #make(call) {
    const details = h("details", {}, h("summary", {}, h("span.method", {}, call.method), h("span.path", { title: call.path }, call.path.replace(/[a-z0-9]{20,}/g, (id) => `${id.slice(0, 4)}…`)), h("span.status"), h("span.ms")), h("div.call-body"));
    details.addEventListener("toggle", () => {
      if (details.open) this.#fillBody($(".call-body", details), call);
    });
    return h("li", {}, details);
  }

  #update(element, call) {
    const status = call.status ?? "…";
    set($(".status", element), { text: status, "data-kind": typeof status === "number" ? String(status)[0] : "x" });
    set($(".ms", element), { text: call.ms === undefined ? "" : `${Math.round(call.ms)} ms` });
    const details = element.firstChild;
    const state = `${call.status}:${call.text?.length ?? 0}`;
    if (details.open && details.dataset.state !== state) this.#fillBody($(".call-body", details), call);
    details.dataset.state = state;
  }

  #fillBody(body, call) {
    const line = curlOf(call);
    const button = h("button.act", {}, t("copy"));
    button.addEventListener("click", async () => set(button, { text: t((await copy(line)) ? "copied" : "copy_failed") }));
    body.replaceChildren(
      h("div.curl", {}, h("code", { tabindex: "0" }, line), button),
      ...(call.body === undefined ? [] : [h("h3", {}, t("drawer.sent")), pretty(JSON.stringify(call.body))]),
      h("h3", {}, t("drawer.answer")),
      pretty(call.text ?? ""),
    );
  }
}

/** JSON with colours, as elements; other text as it is. */
function pretty(text) {
  let shown = text;
  try {
    shown = JSON.stringify(JSON.parse(text), null, 2);
    // Short lists of cards and numbers read better on one line.
    shown = shown.replace(/\[\s+((?:"[^"]{1,3}"|-?[\d.]+)(?:,\s+(?:"[^"]{1,3}"|-?[\d.]+))*)\s+\]/g, (_, inner) => `[${inner.replace(/,\s+/g, ", ")}]`);
  } catch {
    // Not JSON: the counters, or a stream.
  }
  if (shown.length > MOST_TEXT) shown = `${shown.slice(0, MOST_TEXT)}\n…`;
  const pre = h("pre", { tabindex: "0" });
  let last = 0;
  for (const found of shown.matchAll(DETAIL)) {
    pre.append(shown.slice(last, found.index));
    const kind = found[2] ? "key" : found[1] ? "text" : found[3] ? "word" : "number";
    pre.append(h(`span.json-${kind}`, {}, found[1] ?? found[0]), found[2] ?? "");
    last = found.index + found[0].length;
  }
  pre.append(shown.slice(last) || " ");
  return pre;
}
