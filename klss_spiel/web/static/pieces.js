// Pieces as SVG, from the outlines that the package draws its own pictures with.

import { svg } from "./dom.js";

let shapes = {};
const NAMES = { P: "pawn", N: "knight", B: "bishop", R: "rook", Q: "queen", K: "king" };

export const KINDS = ["P", "N", "B", "R", "Q", "K"];

export function useShapes(found) {
  shapes = found;
}

export function isPiece(mark) {
  return mark.toUpperCase() in NAMES;
}

export function colourOf(letter) {
  return letter === letter.toUpperCase() ? 0 : 1;
}

export function kindName(letter) {
  return NAMES[letter.toUpperCase()];
}

export function pieceName(letter) {
  return `${colourOf(letter) ? "black" : "white"} ${kindName(letter)}`;
}

export function piece(letter) {
  return svg(
    "svg",
    {
      viewBox: "0 0 45 45",
      class: `piece ${colourOf(letter) ? "black" : "white"}`,
      "aria-hidden": "true",
      focusable: "false",
    },
    svg("path", { d: shapes[letter.toUpperCase()] }),
  );
}
