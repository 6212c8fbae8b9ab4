// End-to-end tests of the page in Chromium.
//
//   npm test [NAME...]      all tests, or those whose name contains one of the words
//
// BOARD_URL is the address of a running server; without it BOARD_BINARY or target/debug/board is started.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Driver, launchBrowser, startServer } from './driver.mjs';

const LIMIT_MS = 175_000;
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const BOTH = ['human', 'human'];
const AGAINST_ENGINE = ['human', 'engine'];

const tests = {
  async chess_against_the_engine(driver) {
    await driver.newGame({ variant: 'chess', players: AGAINST_ENGINE });
    await driver.move('e2', 'e4');
    await driver.waitForMoves(2);
    await driver.drag('g1', 'f3');
    await driver.waitForMoves(4);
    const moves = await driver.moves();
    assert.deepEqual([moves[0], moves[2]], ['e4', 'Nf3']);
    await driver.page.click('#take-back');
    await driver.page.waitForFunction(() => document.querySelectorAll('#moves .move').length === 2);
    await driver.page.click('#resign');
    await driver.waitForStatus(/^0-1 .*resigned/);
  },

  async chess_is_played_to_mate(driver) {
    await driver.newGame({ variant: 'chess', players: BOTH });
    for (const [from, to] of [['f2', 'f3'], ['e7', 'e5'], ['g2', 'g4']]) await driver.move(from, to);
    await driver.waitForMoves(3);
    await driver.move('d8', 'h4');
    await driver.waitForStatus(/^0-1 Black won: checkmate/);
    assert.equal(await driver.page.isVisible('#rematch'), true);
  },

  async engine_plays_white(driver) {
    await driver.newGame({ variant: 'chess', players: ['engine', 'human'], minutes: '3' });
    await driver.waitForMoves(1);
    await driver.anyMove('black');
    await driver.waitForMoves(3);
    assert.match(await driver.page.textContent('[data-test=clock-1]'), /^[23]:\d\d$/);
  },

  async promotion_is_chosen(driver) {
    await driver.newGame({ variant: 'chess', players: BOTH, fen: '8/P6k/8/8/8/8/8/K7 w - - 0 1' });
    await driver.move('a7', 'a8');
    await driver.page.click('.promotion [aria-label="Promote to knight"]');
    await driver.waitForMoves(1);
    assert.deepEqual(await driver.moves(), ['a8=N']);
  },

  async castling_by_king_and_by_rook(driver) {
    await driver.newGame({ variant: 'chess', players: BOTH, fen: 'r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1' });
    await driver.move('e1', 'g1');
    await driver.waitForMoves(1);
    await driver.move('e8', 'a8');
    await driver.waitForMoves(2);
    assert.deepEqual(await driver.moves(), ['O-O', 'O-O-O']);
  },

  async crazyhouse_with_drops(driver) {
    await driver.newGame({ variant: 'crazyhouse', players: BOTH });
    for (const [from, to] of [['e2', 'e4'], ['d7', 'd5'], ['e4', 'd5'], ['d8', 'd5']]) await driver.move(from, to);
    await driver.waitForMoves(4);
    await driver.pocket('white', 'p').click();
    await driver.click('e4');
    await driver.waitForMoves(5);
    const start = await driver.pocket('black', 'p').boundingBox();
    const target = await driver.point('e6');
    await driver.dragPoints({ x: start.x + start.width / 2, y: start.y + start.height / 2 }, target);
    await driver.waitForMoves(6);
    const moves = await driver.moves();
    assert.match(moves[4], /@e4/);
    assert.match(moves[5], /@e6/);
  },

  async crazyhouse_against_the_engine(driver) {
    await driver.newGame({ variant: 'crazyhouse', players: AGAINST_ENGINE });
    for (const count of [2, 4, 6]) {
      await driver.anyMove('white');
      await driver.waitForMoves(count);
    }
  },

  async duck_has_two_halves(driver) {
    await driver.newGame({ variant: 'duck', players: AGAINST_ENGINE });
    await driver.move('e2', 'e4');
    await driver.waitForStatus(/Complete the turn/);
    await driver.click('e5');
    await driver.waitForMoves(2);
    assert.match((await driver.moves())[0], /^e4.*e5$/);
    await driver.anyMove('white');
    await driver.waitForStatus(/Complete the turn/);
    await driver.page.click('#cancel-turn');
    await driver.waitForStatus(/White to move/);
  },

  async bughouse_on_both_boards(driver) {
    await driver.newGame({ variant: 'bughouse2', players: ['human', 'human', 'human', 'human'], minutes: '5' });
    await driver.move('e2', 'e4', 0);
    await driver.waitForMoves(1);
    await driver.move('d2', 'd4', 1);
    await driver.waitForMoves(2);
    await driver.move('d7', 'd5', 0);
    await driver.waitForMoves(3);
    await driver.move('e4', 'd5', 0);
    await driver.waitForMoves(4);
    assert.equal(await driver.pocket('black', 'p', 1).getAttribute('data-nb'), '1');
    await driver.pocket('black', 'p', 1).click();
    await driver.click('e4', 1);
    await driver.waitForMoves(5);
    assert.match((await driver.moves())[4], /@e4/);
  },

  async bughouse_against_the_engine(driver) {
    await driver.newGame({ variant: 'bughouse2', players: ['human', 'engine', 'engine', 'human'], minutes: '5', nodes: 10 });
    await driver.move('e2', 'e4', 0);
    await driver.page.waitForFunction(() => /\db\.|1B/.test(document.getElementById('moves').textContent));
    await driver.page.waitForFunction(() => document.getElementById('moves').textContent.includes('1a.'));
    await driver.anyMove('black', 1);
    await driver.page.waitForFunction(() => document.getElementById('moves').textContent.includes('1b.'));
  },

  async three_by_three(driver) {
    await driver.newGame({ variant: '3x3', players: AGAINST_ENGINE });
    await playToEnd(driver, 12);
  },

  async tictacmo_is_played_to_the_end(driver) {
    await driver.newGame({ variant: 'tictacmo', players: ['human', 'engine', 'engine'] });
    for (let turn = 0; turn < 8; turn++) {
      await driver.page.waitForFunction(
        () => document.querySelector('.cell.free') !== null || !document.getElementById('rematch').hidden,
      );
      if (await driver.page.isVisible('#rematch')) break;
      const before = (await driver.moves()).length;
      await driver.page.click('.cell.free');
      await driver.waitForMoves(before + 1);
    }
    assert.equal(await driver.page.isVisible('#rematch'), true);
  },

  async connect4_drops_into_columns(driver) {
    await driver.newGame({ variant: 'connect4', players: BOTH });
    await driver.click('d5');
    await driver.waitForMoves(1);
    await driver.click('d6');
    await driver.waitForMoves(2);
    assert.deepEqual(await driver.moves(), ['d1', 'd2']);
  },

  async blind_chess(driver) {
    await driver.newRbcGame();
    await driver.waitForStatus(/sense/);
    await driver.click('e7');
    await driver.waitForStatus(/Your turn: move/);
    await driver.move('e2', 'e4');
    await driver.waitForStatus(/Your turn: sense/);
    await driver.page.reload();
    await driver.waitForStatus(/Your turn: sense/);
    await driver.page.fill('#rbc-text', 'd5');
    await driver.page.press('#rbc-text', 'Enter');
    await driver.waitForStatus(/Your turn: move/);
    await driver.page.click('#rbc-pass');
    await driver.waitForStatus(/Your turn: sense/);
    await driver.page.click('#rbc-resign');
    await driver.waitForStatus(/0-1/);
    await driver.page.click('#rbc-first');
    assert.match(await driver.page.textContent('#rbc-hint'), /position 1 of/);
    await driver.newGame({ variant: 'chess', players: BOTH });
    await driver.waitForStatus(/White to move/);
  },

  async blind_chess_survives_a_lost_connection(driver) {
    await driver.newRbcGame();
    await driver.waitForStatus(/Your turn: sense/);
    let losses = 0;
    await interceptRequests(driver, ({ type }, socket) => {
      if (type !== 'rbc.resume' || losses > 0) return false;
      losses += 1;
      socket.close();
      return true;
    });
    await driver.waitForStatus(/Your turn: sense/);
    assert.equal(losses, 1);
  },

  async blind_chess_reports_a_game_that_is_gone(driver) {
    await driver.newRbcGame();
    await driver.waitForStatus(/Your turn: sense/);
    await interceptRequests(driver, ({ type, id }, socket) => {
      if (type === 'rbc.resume') socket.send(JSON.stringify({ type: 'error', id, message: 'no such game' }));
      return type === 'rbc.resume';
    });
    await driver.waitForStatus(/no such game/);
    await driver.open();
    await driver.waitForStatus(/to move/);
  },

  async blind_chess_ends_when_another_game_has_begun(driver) {
    const { page } = driver;
    await driver.newRbcGame();
    await driver.waitForStatus(/Your turn: sense/);
    let refuses = true;
    let resignations = 0;
    await interceptRequests(driver, ({ type, id }, socket) => {
      if (type === 'rbc.resign') resignations += 1;
      if (type !== 'rbc.new' || !refuses) return false;
      socket.send(JSON.stringify({ type: 'error', id, message: 'too many games' }));
      return true;
    });
    await driver.waitForStatus(/Your turn: sense/);
    await page.click('#new-game');
    await page.click('#new-start');
    await page.waitForFunction(() => document.getElementById('new-error').textContent === 'too many games');
    await page.click('#new-game-dialog [data-close]');
    await driver.click('e7');
    await driver.waitForStatus(/Your turn: move/);
    assert.equal(resignations, 0);
    await page.click('#rbc-resign');
    await driver.waitForStatus(/0-1/);
    await page.click('#rbc-again');
    await driver.waitForStatus(/too many games/);
    refuses = false;
    await page.click('#rbc-again');
    await driver.waitForStatus(/Your turn: sense/);
    assert.equal(resignations, 1);
    await driver.newRbcGame('black');
    await driver.waitForStatus(/Your turn: sense/);
    assert.equal(resignations, 2);
    await driver.newGame({ variant: 'chess', players: BOTH });
    await driver.waitForStatus(/White to move/);
    assert.equal(resignations, 3);
  },

  async long_request_is_refused(driver) {
    const { page } = driver;
    await page.click('#new-game');
    await page.selectOption('#new-variant', 'chess');
    await page.fill('#new-fen', 'é'.repeat(40_000));
    await page.click('#new-start');
    await page.waitForFunction(() => /at most 65536/.test(document.getElementById('new-error').textContent));
  },

  async analysis_is_started_moved_and_stopped(driver) {
    const { page } = driver;
    await driver.newGame({ variant: 'chess', players: BOTH });
    await driver.move('e2', 'e4');
    await driver.waitForMoves(1);
    await page.click('#tab-analysis');
    await page.selectOption('#line-count', '3');
    await page.click('#analyse');
    await page.waitForFunction(() => document.querySelectorAll('#lines li').length === 3);
    await page.waitForSelector('.arrow.best');
    assert.match(await page.textContent('#stats'), /Depth .* nodes/);
    await page.focus('#moves .move');
    await page.keyboard.press('ArrowLeft');
    await page.waitForFunction(() => document.querySelector('#moves [aria-current]') === null);
    await page.waitForFunction(() => document.querySelectorAll('#lines li').length === 3);
    await page.check('#show-heat');
    await page.waitForSelector('.heat');
    await page.uncheck('#show-heat');
    await page.click('#analyse');
    assert.equal(await page.getAttribute('#analyse', 'aria-pressed'), 'false');
    await page.click('#lines li button');
    await driver.waitForMoves(1);
  },

  async first_line_comes_soon(driver) {
    const { page } = driver;
    await driver.newGame({ variant: 'chess', players: BOTH });
    await page.click('#tab-analysis');
    await page.click('#analyse');
    await page.waitForSelector('#lines li');
    const times = [];
    for (const text of ['e4', 'e5', 'Nf3', 'Nc6', 'Bb5']) {
      const before = (await driver.moves()).length;
      await page.fill('#move-text', text);
      times.push(await page.evaluate(firstLineTime, before));
    }
    times.sort((a, b) => a - b);
    console.log(`     first line after ${times.map(Math.round).join(', ')} ms`);
    assert.ok(times[2] < 1000, `median ${times[2]} ms`);
  },

  async bughouse_is_analysed_for_a_team(driver) {
    const { page } = driver;
    await driver.newGame({ variant: 'bughouse2', players: ['human', 'human', 'human', 'human'] });
    await driver.move('e2', 'e4', 0);
    await driver.waitForMoves(1);
    await page.click('#tab-analysis');
    await page.selectOption('#team', '1');
    await page.click('#analyse');
    await page.waitForSelector('#lines li');
    await page.waitForSelector('.arrow.best');
    await page.click('#lines li button');
    await driver.waitForMoves(2);
  },

  async touch_moves_and_drops(driver) {
    const context = await driver.page.context().browser().newContext({
      viewport: { width: 360, height: 740 },
      hasTouch: true,
      isMobile: true,
    });
    const touch = new Driver(await context.newPage(), driver.url);
    const tap = async square => {
      const { x, y } = await touch.point(square);
      await touch.page.touchscreen.tap(x, y);
      await touch.frame();
    };
    await touch.open();
    await touch.newGame({ variant: 'crazyhouse', players: BOTH });
    for (const square of ['e2', 'e4', 'd7', 'd5', 'e4', 'd5', 'd8', 'd5']) await tap(square);
    await touch.waitForMoves(4);
    await touch.pocket('white', 'p').tap();
    await tap('e4');
    await touch.waitForMoves(5);
    assert.deepEqual(touch.errors, []);
    await context.close();
  },

  async draw_is_declined_in_the_opening(driver) {
    await driver.newGame({ variant: 'chess', players: AGAINST_ENGINE });
    await driver.move('e2', 'e4');
    await driver.waitForMoves(2);
    await driver.page.click('#draw');
    await driver.waitForStatus(/declines the draw/);
  },

  async game_is_evaluated(driver) {
    const { page } = driver;
    await driver.newGame({ variant: '3x3', players: BOTH });
    await driver.anyMove('white');
    await driver.waitForMoves(1);
    await page.click('#tab-analysis');
    await page.click('#evaluate-game');
    await page.waitForSelector('#graph svg');
  },

  async pgn_round_trip(driver) {
    const { page } = driver;
    await driver.newGame({ variant: 'crazyhouse', players: BOTH });
    for (const text of ['e4', 'd5', 'exd5', 'Qxd5', 'Nc3']) await enter(driver, text);
    await page.click('#tab-analysis');
    await page.click('#previous');
    await page.click('#previous');
    await enter(driver, 'Nf6');
    const written = await exportPgn(driver);
    assert.match(written, /Variant "crazyhouse"/);
    assert.match(written, /\(2\.\.\. Nf6\)/);
    await driver.newGame({ variant: 'duck', players: BOTH });
    await enter(driver, 'e2e4,e4e5');
    const duck = await exportPgn(driver);
    for (const text of [written, duck]) {
      await importPgn(driver, text);
      assert.equal(await exportPgn(driver), text);
    }
  },

  async bpgn_round_trip(driver) {
    const { page } = driver;
    await driver.newGame({ variant: 'bughouse2', players: ['human', 'human', 'human', 'human'] });
    await enter(driver, 'e4');
    await page.selectOption('#move-board', '1');
    await enter(driver, 'd4');
    await page.selectOption('#move-board', '0');
    await enter(driver, 'd5');
    const written = await exportPgn(driver);
    assert.match(written, /1A\. e4 1B\. d4 1a\. d5/);
    await importPgn(driver, written);
    assert.equal(await exportPgn(driver), written);
  },

  async invalid_input_is_answered(driver) {
    const { page } = driver;
    await driver.newGame({ variant: 'chess', players: BOTH });
    await page.fill('#move-text', 'Ke5');
    await page.press('#move-text', 'Enter');
    await driver.waitForStatus(/Error: .*Ke5/);
    await page.click('#exchange');
    await page.fill('#fen-text', 'nonsense');
    await page.click('#fen-load');
    await page.waitForFunction(() => document.getElementById('exchange-error').textContent !== '');
    await page.fill('#pgn-text', '1. e4 e5 2. Ke4');
    await page.click('#pgn-load');
    await page.waitForFunction(() => /Ke4/.test(document.getElementById('exchange-error').textContent));
    await page.keyboard.press('Escape');
  },

  async reload_keeps_the_game(driver) {
    await driver.newGame({ variant: 'crazyhouse', players: AGAINST_ENGINE });
    await driver.move('e2', 'e4');
    await driver.waitForMoves(2);
    const moves = await driver.moves();
    await driver.page.reload();
    await driver.waitForMoves(2);
    assert.deepEqual(await driver.moves(), moves);
    await driver.anyMove('white');
    await driver.waitForMoves(4);
  },

  async keyboard_is_enough(driver) {
    const { page } = driver;
    await driver.newGame({ variant: 'chess', players: BOTH });
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press('m');
    await page.keyboard.type('e4');
    await page.keyboard.press('Enter');
    await driver.waitForMoves(1);
    await page.keyboard.press('Escape');
    await page.keyboard.press('ArrowLeft');
    await page.waitForFunction(() => document.querySelector('#moves [aria-current]') === null);
    await page.keyboard.press('End');
    await page.waitForFunction(() => document.querySelector('#moves [aria-current]')?.textContent === 'e4');
    await page.keyboard.press('?');
    await page.waitForSelector('#help-dialog[open]');
    await page.keyboard.press('Escape');
    await page.waitForSelector('#help-dialog[open]', { state: 'detached' });
    await page.keyboard.press('f');
    await page.waitForSelector('.orientation-black');
  },

  async no_accessibility_fault(driver) {
    const { page } = driver;
    for (const scheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme: scheme });
      await driver.newGame({ variant: 'crazyhouse', players: BOTH, minutes: '3' });
      await enter(driver, 'e4');
      await checkAccessibility(page, `play, ${scheme}`);
      await page.click('#tab-analysis');
      await page.click('#analyse');
      await page.waitForSelector('#lines li');
      await page.click('#analyse');
      await checkAccessibility(page, `analysis, ${scheme}`);
      for (const button of ['#new-game', '#exchange', '#help']) {
        await page.click(button);
        await checkAccessibility(page, `${button}, ${scheme}`);
        await page.keyboard.press('Escape');
      }
      await driver.newGame({ variant: 'tictacmo', players: ['human', 'human', 'human'] });
      await driver.click('c2');
      await driver.waitForMoves(1);
      await checkAccessibility(page, `cells, ${scheme}`);
      await driver.newRbcGame();
      await driver.waitForStatus(/sense/);
      await checkAccessibility(page, `blind chess, ${scheme}`);
    }
    await page.emulateMedia({ colorScheme: null });
    await driver.newGame({ variant: 'chess', players: BOTH });
  },

  async narrow_page_has_no_sideways_scroll(driver) {
    const { page } = driver;
    const size = page.viewportSize();
    await page.setViewportSize({ width: 360, height: 740 });
    for (const [variant, seats] of [['chess', 2], ['crazyhouse', 2], ['bughouse2', 4], ['tictacmo', 3]]) {
      await driver.newGame({ variant, players: Array(seats).fill('human'), minutes: '3' });
      assert.equal(await driver.isWidePage(), false, variant);
    }
    await page.click('#tab-analysis');
    assert.equal(await driver.isWidePage(), false, 'analysis');
    await page.setViewportSize(size);
  },
};

/** Runs in the page: plays the typed move and returns the milliseconds until its first line is shown. */
function firstLineTime(before) {
  const start = performance.now();
  document.getElementById('move-form').requestSubmit();
  return new Promise(resolve => {
    const check = () => {
      const moved = document.querySelectorAll('#moves .move').length > before;
      if (moved && document.querySelector('#lines li') !== null) resolve(performance.now() - start);
      else requestAnimationFrame(check);
    };
    check();
  });
}

async function playToEnd(driver, turns) {
  for (let turn = 0; turn < turns; turn++) {
    await driver.page.waitForFunction(
      () => /White to move/.test(document.getElementById('status').textContent) || !document.getElementById('rematch').hidden,
    );
    if (await driver.page.isVisible('#rematch')) return;
    const before = (await driver.moves()).length;
    assert.notEqual(await driver.anyMove('white'), null);
    await driver.waitForMoves(before + 1);
  }
}

async function enter(driver, text) {
  const before = (await driver.moves()).length;
  await driver.page.fill('#move-text', text);
  await driver.page.press('#move-text', 'Enter');
  await driver.waitForMoves(before + 1);
}

async function exportPgn({ page }) {
  await page.click('#exchange');
  const text = await page.inputValue('#pgn-text');
  await page.click('#exchange-dialog [data-close]');
  return text;
}

async function importPgn({ page }, text) {
  await page.click('#exchange');
  await page.fill('#pgn-text', text);
  await page.click('#pgn-load');
  await page.waitForSelector('#exchange-dialog', { state: 'hidden' });
}

/** Opens the page again. `answer` gets each request, and returns whether it is not sent to the server. */
async function interceptRequests(driver, answer) {
  await driver.page.routeWebSocket(/\/ws$/, socket => {
    const server = socket.connectToServer();
    socket.onMessage(text => {
      if (!answer(JSON.parse(text), socket)) server.send(text);
    });
  });
  await driver.open();
}

async function checkAccessibility(page, name) {
  const violations = await page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ['violations'] });
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.map(node => node.html.slice(0, 120)).slice(0, 3).join(' | ')}`);
  });
  assert.deepEqual(violations, [], name);
}

async function main() {
  const words = process.argv.slice(2);
  const chosen = Object.entries(tests).filter(([name]) => words.length === 0 || words.some(word => name.includes(word)));
  const server = await startServer();
  const browser = await launchBrowser();
  const limit = setTimeout(() => {
    console.error(`not finished within ${LIMIT_MS / 1000} s`);
    server.stop();
    process.exit(1);
  }, LIMIT_MS);
  let failures = 0;
  try {
    for (const [name, test] of chosen) {
      // Each test has a storage of its own.
      const context = await browser.newContext({ viewport: { width: 1200, height: 800 }, reducedMotion: 'reduce' });
      await context.addInitScript(AXE);
      const driver = new Driver(await context.newPage(), server.url);
      const start = performance.now();
      try {
        await driver.open();
        await test(driver);
        assert.deepEqual(driver.errors, [], 'errors in the console');
        console.log(`ok   ${name} (${((performance.now() - start) / 1000).toFixed(1)} s)`);
      } catch (error) {
        failures += 1;
        console.error(`FAIL ${name}: ${error.message}`);
        if (process.env.E2E_SHOTS) await driver.page.screenshot({ path: `${process.env.E2E_SHOTS}/${name}.png` });
      } finally {
        await context.close();
      }
    }
  } finally {
    clearTimeout(limit);
    await browser.close();
    server.stop();
  }
  console.log(`${chosen.length - failures} of ${chosen.length} tests passed`);
  process.exitCode = failures === 0 ? 0 : 1;
}

await main();
