/** Making and mending elements. Text is only ever text here: nothing is parsed as HTML. */

const SVG = "http://www.w3.org/2000/svg";

/** @param {string} selector @param {ParentNode} [root] @returns {any} */
export const $ = (selector, root = document) => root.querySelector(selector);

/** @param {string} selector @param {ParentNode} [root] @returns {any[]} */
export const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

/**
 * Set attributes; `null` and `false` take one away, `onX` listens, `text` is the text.
 * @param {any} element
 * @param {Record<string, any>} attributes
 */
export function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "text") {
      if (element.textContent !== String(value)) element.textContent = value;
    } else if (name === "value") element.value = value;
    else if (value === null || value === undefined || value === false) {
      element.removeAttribute(name);
    } else {
      const text = value === true ? "" : String(value);
      if (element.getAttribute(name) !== text) element.setAttribute(name, text);
    }
  }
  return element;
}

/**
 * Make an HTML element.
 * @param {string} tag `name.class.class`
 * @param {Record<string, any>} [attributes]
 * @param {...any} children elements or text; nothing is made of null and false
 */
export function h(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name);
  // Unless it says otherwise, a button sends no form.
  if (name === "button") element.type = "button";
  if (classes.length) element.className = classes.join(" ");
  set(element, attributes);
  element.append(...children.flat().filter((child) => child !== null && child !== false && child !== undefined));
  return element;
}

/** Make an SVG element, as `h` does. */
export function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  set(element, attributes);
  element.append(...children.flat().filter(Boolean));
  return element;
}

/** Make an icon from a symbol of the page. */
export const icon = (name) =>
  s("svg", { class: "icon", "aria-hidden": "true", viewBox: "0 0 24 24" }, s("use", { href: `#i-${name}` }));

/**
 * Make the children of `container` those of `items`, in order, keeping the elements that stay: so
 * the focus stays too.
 * @template T
 * @param {HTMLElement} container
 * @param {T[]} items
 * @param {(item: T) => string} keyOf
 * @param {(item: T) => HTMLElement} make
 * @param {(element: any, item: T, index: number) => void} update
 */
export function patch(container, items, keyOf, make, update) {
  const old = new Map([...container.children].map((child) => [child.dataset?.key, child]));
  let place = container.firstElementChild;
  items.forEach((item, index) => {
    const key = keyOf(item);
    let element = old.get(key);
    if (element) old.delete(key);
    else {
      element = make(item);
      element.dataset.key = key;
    }
    update(element, item, index);
    if (element === place) place = place.nextElementSibling;
    else container.insertBefore(element, place);
  });
  for (const element of old.values()) element.remove();
}

/** Tell whether the reader wants things to stay still. */
export const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** Where an element is: card name or key to its rectangle, of all that carry `data-fly`. */
export function placesOf(root) {
  const places = new Map();
  for (const element of $$("[data-fly]", root)) {
    const box = element.getBoundingClientRect();
    if (box.width) places.set(element.dataset.fly, box);
  }
  return places;
}

/**
 * Let what moved between two states fly from where it was.
 * @param {HTMLElement} root
 * @param {Map<string, DOMRect>} before as `placesOf` gave it
 * @param {(key: string) => DOMRect | null} origin where a thing comes from that was not seen before
 */
export function fly(root, before, origin) {
  if (isStill()) return;
  for (const element of $$("[data-fly]", root)) {
    const key = element.dataset.fly;
    const from = before.get(key) ?? origin(key);
    const to = element.getBoundingClientRect();
    if (!from || !to.width) continue;
    const dx = from.left - to.left;
    const dy = from.top - to.top;
    if (Math.abs(dx) + Math.abs(dy) < 2) continue;
    const scale = from.width / to.width;
    const flight = element.animate(
      [
        { transform: `translate(${dx}px, ${dy}px) scale(${scale})`, transformOrigin: "0 0", zIndex: 5 },
        { transform: "none", transformOrigin: "0 0", zIndex: 5 },
      ],
      { duration: 320, easing: "cubic-bezier(.2,.7,.2,1)" },
    );
    // Who aims at a card below must not hit the one that flies over it.
    element.classList.add("in-flight");
    flight.onfinish = flight.oncancel = () => element.classList.remove("in-flight");
  }
}

/** Put `text` on the clipboard; answers whether that was allowed. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
