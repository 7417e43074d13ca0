// Elements without HTML strings: text is always text.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else element.setAttribute(name, String(value));
  }
  element.append(...children.flat().filter((c) => c !== null && c !== undefined));
  return element;
}

export function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

export function show(...children) {
  const main = document.getElementById("main");
  main.replaceChildren(...children);
  return main;
}

// Read out by screen readers.
export function announce(text) {
  document.getElementById("live").textContent = text;
}

let hiding;

export function toast(text) {
  const box = document.getElementById("toast");
  box.textContent = text;
  box.hidden = false;
  clearTimeout(hiding);
  hiding = setTimeout(() => (box.hidden = true), 4000);
}

export async function ask(path, options) {
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Error("The server does not answer.");
  }
  const value = await answer.json().catch(() => ({ text: "The server's answer is no JSON." }));
  if (!answer.ok) throw new Error(value.text || `Error ${answer.status}`);
  return value;
}

export function send(path, value) {
  const headers = { "Content-Type": "application/json" };
  return ask(path, { method: "POST", headers, body: JSON.stringify(value) });
}

export function options(select, items, chosen) {
  select.replaceChildren(
    ...items.map((i) => el("option", { value: i.name, selected: i.name === chosen }, i.title)),
  );
  return select;
}
