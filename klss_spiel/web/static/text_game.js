// Games without a chess board: words, buttons, and a grid of cells for dark hex.

import { announce, el } from "./dom.js";

// Names of the tiles that Unicode has from here on, as the buttons call them.
const FIRST_TILE = 0x1F000;
const TILES = ["Ew", "Sw", "Ww", "Nw", "Rd", "Gd", "Wd",
  "1m", "2m", "3m", "4m", "5m", "6m", "7m", "8m", "9m"];

// A line with tiles of Mahjong drawn, as few machines have letters for them.
export function withTiles(line) {
  return [...line].map((letter) => {
    const name = TILES[letter.codePointAt(0) - FIRST_TILE];
    return name ? el("span", { class: `tile tile-${name[1]}` }, name) : letter;
  });
}

export class TextGame {
  constructor(onMove) {
    this.onMove = onMove;
    this.lines = el("div", { class: "told", id: "told" });
    this.cells = el("div", { class: "hex" });
    this.buttons = el("div", { class: "actions", role: "group", "aria-label": "Actions" });
    this.element = el("section", { class: "card text-game" }, this.lines, this.cells, this.buttons);
  }

  update(view) {
    this.lines.replaceChildren(...view.lines.map((line) => el("p", {}, ...withTiles(line || "\u00a0"))));
    announce(view.lines.join(". "));
    if (view.hex) {
      this.cells.replaceChildren(...hexRows(view.hex, view.moves, this.onMove));
      this.buttons.replaceChildren();
      return;
    }
    this.buttons.replaceChildren(...view.moves.map((move) =>
      el("button", { type: "button", "data-move": move, onclick: () => this.onMove(move) }, move)));
  }
}

export function hexRows(rows, moves = [], onMove = null) {
  return rows.map((row, r) => el(
    "div",
    { class: `hex-row shift-${Math.min(r, 10)}` },
    [...row].map((mark, c) => {
      const name = `${"abcdefghijk"[c]}${r + 1}`;
      const free = moves.includes(name);
      return el("button", {
        type: "button", class: `hex-cell ${mark === "." ? "" : `stone-${mark}`}`, "data-move": name,
        disabled: !free, "aria-label": `${name}, ${mark === "." ? "empty" : mark}`,
        onclick: onMove ? () => onMove(name) : null,
      }, mark === "." ? "" : mark);
    }),
  ));
}
