// Writes the screenshots of docs/board.
//
//   node test/screenshots.mjs FOLDER
//
// BOARD_URL and BOARD_BINARY are those of e2e.mjs.

import { join } from 'node:path';
import { Driver, launchBrowser, startServer } from './driver.mjs';

const [folder = '../../docs/board'] = process.argv.slice(2);
const WIDE = { width: 1200, height: 800 };
const NARROW = { width: 360, height: 740 };

const pictures = {
  async analysis(driver) {
    await play(driver, { variant: 'chess', players: 2 }, ['e4', 'e5', 'Nf3', 'Nc6', 'Bb5', 'a6', 'Ba4', 'Nf6', 'O-O', 'Be7', 'Re1', 'b5', 'Bb3']);
    await driver.page.click('#tab-analysis');
    await driver.page.click('#evaluate-game');
    await driver.page.waitForFunction(() => document.getElementById('evaluate-game').textContent === 'Evaluate game');
    for (let i = 0; i < 3; i++) await driver.page.click('#previous');
    await enter(driver, 'd3');
    await driver.page.click('#previous');
    await analyse(driver, 3);
  },
  async play(driver) {
    await play(driver, { variant: 'chess', players: 2, minutes: '5' }, ['d4', 'Nf6', 'c4', 'e6', 'Nc3', 'Bb4', 'e3', 'O-O']);
    await driver.click('f1');
    await driver.frame();
  },
  async crazyhouse(driver) {
    await play(driver, { variant: 'crazyhouse', players: 2 }, ['e4', 'd5', 'exd5', 'Qxd5', 'Nc3', 'Qa5', 'd4', 'Nf6', 'Nf3', 'Bg4', 'Be2', 'Bxf3', 'Bxf3']);
    await driver.page.click('#tab-analysis');
    await analyse(driver, 3);
  },
  async duck(driver) {
    await play(driver, { variant: 'duck', players: 2 }, ['e2e4,e4e5', 'd7d5,d5d4', 'e4d5,d5e4']);
    await driver.move('d8', 'd5');
    await driver.waitForStatus(/Complete/);
    await driver.frame();
  },
  async bughouse(driver) {
    const { page } = driver;
    await driver.newGame({ variant: 'bughouse2', players: ['human', 'human', 'human', 'human'], minutes: '3' });
    const moves = [[0, 'e4'], [1, 'd4'], [0, 'd5'], [1, 'Nf6'], [0, 'exd5'], [1, 'c4'], [1, 'P@e4'], [0, 'Qxd5'], [0, 'Nc3'], [1, 'f3'], [0, 'Qa5'], [1, 'exf3']];
    for (const [board, text] of moves) {
      const before = (await driver.moves()).length;
      await page.selectOption('#move-board', String(board));
      await page.fill('#move-text', text);
      await page.press('#move-text', 'Enter');
      await driver.waitForMoves(before + 1);
    }
    await page.evaluate(() => document.activeElement.blur());
  },
  async '3x3'(driver) {
    await play(driver, { variant: '3x3', players: 2, fen: 'k2/3/1RK w - - 0 1' }, []);
    await driver.page.click('#tab-analysis');
    await analyse(driver, 3);
  },
  async tictacmo(driver) {
    await play(driver, { variant: 'tictacmo', players: 3 }, ['c2', 'b2', 'd2', 'c3', 'c1']);
    await driver.page.click('#tab-analysis');
    await driver.page.check('#show-heat');
    await analyse(driver, 3);
  },
  async rbc(driver) {
    await driver.newRbcGame();
    await driver.waitForStatus(/sense/);
    for (const [sense, from, to] of [['e7', 'e2', 'e4'], ['d6', 'g1', 'f3']]) {
      await driver.click(sense);
      await driver.waitForStatus(/Your turn: move/);
      await driver.move(from, to);
      await driver.waitForStatus(/Your turn: sense/);
    }
    await driver.click('e6');
    await driver.waitForStatus(/Your turn: move/);
    await driver.click('f1');
    await driver.frame();
  },
};

async function play(driver, { players, ...game }, moves) {
  await driver.newGame({ ...game, players: Array(players).fill('human') });
  for (const text of moves) await enter(driver, text);
}

async function enter(driver, text) {
  const before = (await driver.moves()).length;
  await driver.page.fill('#move-text', text);
  await driver.page.press('#move-text', 'Enter');
  await driver.waitForMoves(before + 1);
  await driver.page.evaluate(() => document.activeElement.blur());
}

async function analyse(driver, lines) {
  await driver.page.selectOption('#line-count', String(lines));
  await driver.page.click('#analyse');
  await driver.page.waitForFunction(() => /[1-9]\d\d+k? nodes|M nodes/.test(document.getElementById('stats').textContent), null, {
    timeout: 8000,
  }).catch(() => {});
}

async function shoot(browser, url, name, suffix, viewport, colorScheme) {
  const context = await browser.newContext({ viewport, colorScheme, reducedMotion: 'reduce' });
  const driver = new Driver(await context.newPage(), url);
  await driver.open();
  await pictures[name](driver);
  await driver.frame();
  await driver.page.evaluate(() => scrollTo(0, 0));
  await driver.page.mouse.move(0, 0);
  await driver.frame();
  await driver.page.screenshot({ path: join(folder, `${name}${suffix}.png`) });
  await context.close();
}

const server = await startServer();
const browser = await launchBrowser();
try {
  for (const name of Object.keys(pictures)) await shoot(browser, server.url, name, '', WIDE, 'light');
  await shoot(browser, server.url, 'analysis', '-dark', WIDE, 'dark');
  await shoot(browser, server.url, 'play', '-narrow', NARROW, 'light');
  await shoot(browser, server.url, 'analysis', '-narrow', NARROW, 'dark');
  await shoot(browser, server.url, 'bughouse', '-narrow', NARROW, 'light');
} finally {
  await browser.close();
  server.stop();
}
