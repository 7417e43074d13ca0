// Which screen to show: the part of the address after # says so.

import { ask, el, show, toast } from "./dom.js";
import { home } from "./home.js";
import { useShapes } from "./pieces.js";
import { playScreen } from "./play.js";
import { showGame } from "./replay.js";

let leave = null;
let routes = 0;

async function route() {
  if (leave) leave();
  leave = null;
  routes += 1;
  const mine = routes;
  const [, screen, id] = location.hash.split("/");
  try {
    const catalogue = await ask("/api/catalogue");
    if (mine !== routes) return; // the visitor has gone elsewhere meanwhile
    useShapes(catalogue.shapes);
    if (screen === "game" && id) leave = playScreen(id);
    else if (screen === "record" && id) {
      const place = el("div", {});
      const close = await showGame(id, place);
      if (mine !== routes) {
        close();
        return;
      }
      leave = close;
      show(place);
    } else home(catalogue);
  } catch (error) {
    if (mine !== routes) return;
    show(
      el("section", { class: "card narrow" }, el("h1", {}, "Not here"), el("p", {}, error.message),
        el("p", {}, el("a", { class: "button", href: "#/" }, "To the start"))),
    );
    toast(error.message);
  }
}

window.addEventListener("hashchange", route);
route();
