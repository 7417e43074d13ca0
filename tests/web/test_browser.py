"""The page in a real browser: headless chromium, driven by Playwright.

Pictures of the screens are left in `results/screenshots`.
"""

import os
import pathlib
import re
import shutil

import pytest

from klss_spiel.web.catalogue import DEFAULT_BOTS, BotOffer
from tests.helpers.paths import ROOT
from tests.web.live_server import LiveServer

playwright = pytest.importorskip(
    "playwright.sync_api", reason="needs the extra web-test (playwright)"
)
_CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")
if _CHROMIUM is None:
    pytest.skip("needs chromium (apt-get install chromium)", allow_module_level=True)

_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_PICTURES = pathlib.Path(os.environ.get("KLSS_SPIEL_SCREENSHOTS", ROOT / "results/screenshots"))
_MILLISECONDS = 60_000
_DESK = {"width": 1200, "height": 820}
_PHONE = {"width": 360, "height": 740}


@pytest.fixture(scope="module")
def server():
    with LiveServer((*DEFAULT_BOTS, BotOffer("broken", "Broken", ("broken_for_tests",)))) as live:
        yield live


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=_CHROMIUM, args=list(_FLAGS))
        yield opened
        opened.close()


@pytest.fixture
def open_page(browser, server):
    """Opens pages in windows of their own, and holds what they complain about against them."""
    contexts, complaints = [], []

    def opened(path="", viewport=_DESK, **more):
        context = browser.new_context(viewport=viewport, **more)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(_MILLISECONDS)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console",
            lambda said: said.type in ("error", "warning") and complaints.append(said.text),
        )
        page.on(
            "request",
            lambda asked: (
                asked.url.startswith((server.address, server.address.replace("http", "ws")))
                or complaints.append(asked.url)
            ),
        )
        page.goto(f"{server.address}/{path}")
        return page

    yield opened
    for context in contexts:
        context.close()
    # Among them violations of the content security policy and requests to other hosts.
    assert complaints == []


def _picture(page, name, **more):
    _PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=_PICTURES / f"{name}.png", **more)


def _square(page, name):
    return page.locator(f"[data-square={name}]")


def _my_turn(page):
    page.wait_for_selector(".status.yours, #replay")


def _made(page):
    return page.locator(".ply.you:not(.illegal)").count()


def _first_move(page):
    """Clicks a piece that can move, then a square that it can move to."""
    page.locator(".cell.own").first.click()
    page.locator(".cell.target").first.click()
    if page.locator("dialog.promotion").count():
        page.locator("[data-promotion=q]").click()


def _start(page, **choice):
    for name, value in choice.items():
        page.select_option(f"#{name}", value)
    page.get_by_role("button", name="Play", exact=True).click()


def test_a_whole_game_of_dark_chess_and_its_replay_with_the_belief_map(open_page):
    page = open_page()
    page.wait_for_selector("form")
    _picture(page, "start")
    page.fill("#seed", "1")
    _start(page, game="dark-microchess", bot="random", colour="first", clock="none")
    _my_turn(page)
    assert page.locator(".cell.fog").count() > 3
    for _ in range(80):
        if page.locator("#replay").count():
            break
        made = _made(page)
        _first_move(page)
        page.wait_for_function(
            "made => document.querySelectorAll('.ply.you').length > made", arg=made
        )
        _my_turn(page)
    else:
        page.click("#resign")
        page.click("#resign-yes")
    page.click("#replay")
    page.wait_for_selector(".three")
    assert page.locator(".three .truth .fog").count() == 0
    assert page.locator(".three figure:first-child .fog").count() > 0
    page.wait_for_selector(".belief .share")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.wait_for_function("() => document.querySelector('#step').value === '3'")
    assert page.locator("#step-label").inner_text().startswith("3 of ")
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(
        "() => document.querySelector('#belief-note').textContent.startsWith('exactly')"
    )
    # The king is somewhere: the shares of its squares add up to a whole.
    shares = page.locator(".belief .cell.heated").evaluate_all(
        "cells => cells.reduce((sum, cell) => sum + Number(cell.dataset.share), 0)"
    )
    assert shares == pytest.approx(1.0, abs=0.02)
    page.wait_for_selector(".belief tbody tr")
    assert page.locator(".belief tbody tr").count() > 3
    _picture(page, "replay", full_page=True)


def test_an_illegal_try_in_kriegspiel_is_marked_and_another_move_can_be_made(open_page, server):
    session = server.new_game(
        game="kriegspiel-silverman4x4", bot="random", colour="first", seed=1, clock="3+2"
    )
    page = open_page(f"#/game/{session}")
    _my_turn(page)
    _square(page, "a2").click()
    _square(page, "a3").click()  # a black pawn stands there
    page.wait_for_selector(".ply.illegal")
    assert "a2a3 is illegal" in page.locator("#umpire").inner_text()
    assert page.locator("#status").inner_text() == "Your turn."
    _square(page, "a2").click()
    # The try is not offered a second time.
    assert "target" not in _square(page, "a3").get_attribute("class")
    assert "target" in _square(page, "b3").get_attribute("class")
    _square(page, "b3").click()
    page.wait_for_selector(".ply.opponent")
    assert "Pawn gone on b3" in page.locator(".journal").inner_text()
    assert page.locator(".seat .taken").last.locator(".unknown-piece").count() >= 1
    _picture(page, "kriegspiel")


def test_a_pawn_is_promoted_to_what_the_player_picks(open_page, server):
    session = server.new_game(game="dark-mate2", bot="random", colour="first", seed=1)
    page = open_page(f"#/game/{session}")
    _my_turn(page)
    _square(page, "e4").click()
    _square(page, "e5").click()
    page.wait_for_selector("dialog.promotion[open]")
    assert page.locator("dialog.promotion button").count() == 4
    _picture(page, "promotion")
    page.keyboard.press("Escape")  # think again
    assert _made(page) == 0
    _square(page, "e4").drag_to(_square(page, "e5"))
    page.locator("[data-promotion=n]").click()
    page.wait_for_selector(".ply.you")
    assert page.locator(".ply.you").first.inner_text() == "e4e5n"
    assert _square(page, "e5").get_attribute("aria-label").startswith("e5, white knight")


def test_a_reload_in_the_middle_shows_the_same_game(open_page, server):
    session = server.new_game(game="dark-demichess", bot="random", colour="second", seed=3)
    page = open_page(f"#/game/{session}")
    _my_turn(page)
    _first_move(page)
    page.wait_for_selector(".ply.you")
    _my_turn(page)

    def shown():
        labels = page.locator(".place .cell").evaluate_all("cells => cells.map(c => c.ariaLabel)")
        return labels, page.locator(".journal").inner_text()

    before = shown()
    assert before[0][0].startswith("d1")  # Black's side is below
    page.reload()
    _my_turn(page)
    assert shown() == before
    page.click("#flip")
    assert shown()[0][0].startswith("a8")


def test_two_browsers_play_two_games_at_once(open_page):
    first, second = open_page(), open_page()
    for page, game in ((first, "dark-silverman4x4"), (second, "dark-demichess")):
        page.wait_for_selector("form")
        _start(page, game=game, bot="random", colour="first", clock="none")
    for page in (first, second):
        _my_turn(page)
    for _ in range(2):
        for page in (first, second):
            made = _made(page)
            _first_move(page)
            page.wait_for_function(
                "made => document.querySelectorAll('.ply.you').length > made", arg=made
            )
            _my_turn(page)
    assert first.url != second.url
    assert first.locator(".place .cell").count() == 16
    assert second.locator(".place .cell").count() == 32
    assert _made(first) == _made(second) == 2


def test_everything_fits_a_phone(open_page, server):
    def fits(page):
        return page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    session = server.new_game(
        game="dark-standard", bot="random", colour="first", seed=2, clock="3+2"
    )
    page = open_page(viewport=_PHONE, has_touch=True, is_mobile=True)
    page.wait_for_selector("form")
    assert fits(page)
    page.goto(f"{server.address}/#/game/{session}")
    _my_turn(page)
    assert fits(page)
    _square(page, "e2").tap()
    _square(page, "e4").tap()
    page.wait_for_selector(".ply.you")
    _my_turn(page)
    _picture(page, "phone", full_page=True)
    page.click("#resign")
    page.click("#resign-yes")
    page.click("#replay")
    page.wait_for_selector(".three")
    assert fits(page)
    _picture(page, "phone_replay", full_page=True)


def test_the_keyboard_alone_is_enough(open_page, server):
    session = server.new_game(game="dark-standard", bot="random", colour="first", seed=2)
    page = open_page(f"#/game/{session}")
    _my_turn(page)
    page.fill("#uci", "E2E4")
    page.keyboard.press("Enter")
    page.wait_for_selector(".ply.you")
    _my_turn(page)
    _square(page, "a1").focus()
    for key in ("ArrowUp", "ArrowRight", "ArrowRight", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    assert _square(page, "d2").get_attribute("aria-selected") == "true"
    assert _square(page, "d3").get_attribute("aria-label") == "d3, empty, a move"
    for key in ("ArrowUp", "ArrowUp", " "):
        page.keyboard.press(key)
    page.wait_for_function("() => document.querySelectorAll('.ply.you').length === 2")
    assert page.locator(".ply.you").nth(1).inner_text() == "d2d4"
    page.fill("#uci", "a1a8")
    page.keyboard.press("Enter")
    page.wait_for_selector("#toast:not([hidden])")


def test_words_and_buttons_are_enough_for_other_games(open_page):
    page = open_page()
    page.wait_for_selector("form")
    page.select_option("#family", "text")
    _start(page, game="kuhn", bot="random", colour="first", clock="none")
    _my_turn(page)
    assert re.search("Your card: (Jack|Queen|King)", page.locator("#told").inner_text())
    while not page.locator("#replay").count():
        told = page.locator("#told").inner_text()
        page.locator(".actions button").first.click()
        page.wait_for_function(
            "told => document.querySelector('#told').innerText !== told", arg=told
        )
        _my_turn(page)
    assert re.match("You (win|lose)", page.locator("#status").inner_text())
    page.click("#replay")
    page.wait_for_selector(".three")


def test_a_hand_of_mahjong_can_be_read_and_a_failing_bot_is_owned_up_to(open_page):
    page = open_page()
    page.wait_for_selector("form")
    page.select_option("#family", "text")
    page.fill("#seed", "1")
    _start(page, game="mahjong", bot="broken", colour="first", clock="none")
    _my_turn(page)
    told = page.locator("#told").inner_text()
    assert "You drew" in told
    tiles = page.locator("#told p").first.locator(".tile").all_inner_texts()
    assert len(tiles) == 14 and " ".join(tiles) in told
    _picture(page, "mahjong")
    page.locator(".actions button").first.click()
    page.wait_for_function("told => document.querySelector('#told').innerText !== told", arg=told)
    _my_turn(page)
    page.click("#resign")
    page.click("#resign-yes")
    page.wait_for_selector("#at-random")
    assert "moved at random there" in page.locator("#at-random").inner_text()
    page.click("#replay")
    page.wait_for_selector(".three")
    assert "Broken failed at" in page.locator(".replay-head").inner_text()


def test_bots_can_be_watched_and_a_pgn_opened(open_page):
    page = open_page()
    page.wait_for_selector("form")
    page.select_option("#game", "dark-minimal4x3")
    for select in ("#bot", "#second"):
        page.select_option(select, "random")
    page.select_option("#clock", "none")
    page.click("#watch")
    page.wait_for_selector("#permalink")
    link = page.locator("#permalink").get_attribute("href")
    page.goto(page.url.partition("#")[0] + link)
    page.wait_for_selector(".three")
    page.goto(page.url.partition("#")[0] + "#/")
    page.fill("#text", '[Variant "Fog of War"]\n[White "<b>A</b>"]\n\n1. e4 e5 2. Qh5 *')
    page.click("#load")
    page.wait_for_selector(".three")
    assert page.locator("h1").first.inner_text() == "<b>A</b> – ?"
    assert page.locator(".moves li").count() == 4
