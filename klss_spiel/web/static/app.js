// Which screen to show: the part of the address after # says so.

import { ask, el, show, toast } from "./dom.js";
import { home } from "./home.js";
import { useShapes } from "./pieces.js";
import { playScreen } from "./play.js";
import { recordScreen } from "./replay.js";

let leave = null;

async function route() {
  if (leave) leave();
  leave = null;
  const [, screen, id] = location.hash.split("/");
  try {
    const catalogue = await ask("/api/catalogue");
    useShapes(catalogue.shapes);
    if (screen === "game" && id) leave = playScreen(id);
    else if (screen === "record" && id) leave = await recordScreen(id);
    else home(catalogue);
  } catch (error) {
    show(
      el("section", { class: "card narrow" }, el("h1", {}, "Not here"), el("p", {}, error.message),
        el("p", {}, el("a", { class: "button", href: "#/" }, "To the start"))),
    );
    toast(error.message);
  }
}

window.addEventListener("hashchange", route);
route();
