/** The page's words in the reader's language. */

import { $$, set } from "./dom.js";
import { keep, kept } from "./keep.js";

const LANGUAGES = ["en", "eo", "fi"];

let words = {};
let language = document.documentElement.lang;
let plural = new Intl.PluralRules("en");

const base = new URL(".", import.meta.url);

/** The language in use. */
export const lang = () => language;

/**
 * Return the words for `key`, with `{name}` filled in. With `count` among the values, `key.one` or
 * `key.other` is looked for first.
 */
export function t(key, values = {}) {
  const counted = "count" in values ? words[`${key}.${plural.select(values.count)}`] : undefined;
  const text = counted ?? words[key] ?? values.fallback ?? key;
  return text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
}

/**
 * A number with a true minus sign, and a plus where that is wanted. A browser that does not know how
 * Esperanto writes numbers takes the Finnish way, which is the same.
 */
export function number(value, { signed = false, digits = 0 } = {}) {
  const text = new Intl.NumberFormat([language, "fi"], {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
    signDisplay: signed ? "exceptZero" : "auto",
  }).format(value);
  return text.replace("-", "−");
}

/** A share in percent, in one piece at the end of a line. */
export const percent = (share) => `${number(share * 100)}\u00a0%`;

/** Read the words of a language. */
export async function load(wanted) {
  const answer = await fetch(new URL(`i18n/${wanted}.json`, base));
  words = await answer.json();
  language = wanted;
  plural = new Intl.PluralRules(wanted === "eo" ? "en" : wanted);
}

/** Read the words of the language that the reader chose before, or that the page came in. */
export async function start() {
  const chosen = new URLSearchParams(location.search).get("lang") ?? kept("lang");
  await load(LANGUAGES.includes(chosen) ? chosen : language);
  if (document.documentElement.lang !== language) fill();
}

/** Put the words into the parts of the page that are not drawn anew. */
export function fill() {
  document.documentElement.lang = language;
  document.title = t("title");
  for (const element of $$("[data-i18n]")) set(element, { text: t(element.dataset.i18n) });
  for (const element of $$("[data-i18n-label]")) {
    element.setAttribute("aria-label", t(element.dataset.i18nLabel));
  }
}

/** Switch to a language and remember it. */
export async function choose(wanted) {
  keep("lang", wanted);
  await load(wanted);
  fill();
}
