// Drives the page in Chromium: starts the server, clicks squares, waits for texts.

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../../..');
const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
const WAIT_MS = 20_000;

/** Returns the address of the server in BOARD_URL, or starts one. */
export async function startServer() {
  if (process.env.BOARD_URL) return { url: process.env.BOARD_URL, stop: () => {} };
  const target = process.env.CARGO_TARGET_DIR ?? join(ROOT, 'target');
  const binary = process.env.BOARD_BINARY ?? join(target, 'debug/board');
  if (!existsSync(binary)) throw new Error(`no ${binary}, run: cargo build -p board`);
  const child = spawn(binary, ['--no-open', '--port', '0'], { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout });
  const url = await new Promise((resolve, reject) => {
    lines.once('line', resolve);
    child.once('exit', code => reject(new Error(`the server ended with code ${code}`)));
  });
  return { url: url.trim(), stop: () => child.kill() };
}

export function launchBrowser() {
  return chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--headless=new'] });
}

export class Driver {
  /** Errors of scripts and of the content security policy. */
  errors = [];

  constructor(page, url) {
    this.page = page;
    this.url = url;
    page.setDefaultTimeout(WAIT_MS);
    page.on('console', message => {
      if (message.type() === 'error') this.errors.push(message.text());
    });
    page.on('pageerror', error => this.errors.push(String(error)));
  }

  async open() {
    await this.page.goto(this.url);
    await this.page.waitForFunction(() => !/Connecting|Loading/.test(document.getElementById('status').textContent));
  }

  /** Starts a game. `players` has `human` or `engine` for each seat. */
  async newGame({ variant, players, nodes = 20, minutes = '0', fen = '' }) {
    const { page } = this;
    await page.click('#new-game');
    await page.selectOption('#new-variant', variant);
    for (const [i, player] of players.entries()) await page.selectOption(`[data-test=player-${i}]`, player);
    await page.selectOption('#strength-kind', 'nodes');
    await page.fill('#strength-value', String(nodes));
    await page.selectOption('#clock-minutes', minutes);
    await page.fill('#new-fen', fen);
    await page.click('#new-start');
    await page.waitForSelector('#new-game-dialog', { state: 'hidden' });
    await page.waitForSelector('[data-test=board-0]');
  }

  async newRbcGame(color = 'white') {
    const { page } = this;
    await page.click('#new-game');
    await page.selectOption('#new-variant', 'rbc');
    await page.selectOption('#rbc-color', color);
    await page.click('#new-start');
    await page.waitForSelector('#new-game-dialog', { state: 'hidden' });
  }

  /** Returns the center of a square on the screen. */
  async point(square, board = 0) {
    const element = this.page.locator(`[data-test=board-${board}]`);
    await element.scrollIntoViewIfNeeded();
    return element.evaluate((host, name) => {
      const surface = host.querySelector('cg-board') ?? host.querySelector('.cells');
      const bounds = surface.getBoundingClientRect();
      const files = Number(host.style.getPropertyValue('--files'));
      const ranks = Number(host.style.getPropertyValue('--ranks'));
      const black = host.querySelector('.orientation-black') !== null;
      const file = name.charCodeAt(0) - 97;
      const rank = Number(name[1]) - 1;
      const column = black ? files - 1 - file : file;
      const row = black ? rank : ranks - 1 - rank;
      return {
        x: bounds.left + ((column + 0.5) * bounds.width) / files,
        y: bounds.top + ((row + 0.5) * bounds.height) / ranks,
      };
    }, square);
  }

  async click(square, board = 0) {
    const { x, y } = await this.point(square, board);
    await this.page.mouse.click(x, y);
  }

  /** Moves by two clicks. */
  async move(from, to, board = 0) {
    await this.click(from, board);
    await this.click(to, board);
  }

  async drag(from, to, board = 0) {
    const start = await this.point(from, board);
    const end = await this.point(to, board);
    await this.dragPoints(start, end);
  }

  async dragPoints(start, end) {
    const { mouse } = this.page;
    await mouse.move(start.x, start.y);
    await mouse.down();
    await mouse.move((start.x + end.x) / 2, (start.y + end.y) / 2, { steps: 3 });
    await mouse.move(end.x, end.y, { steps: 3 });
    await mouse.up();
  }

  pocket(color, letter, board = 0) {
    return this.page.locator(`.column:has([data-test=board-${board}]) .pocket button[data-color=${color}][data-role=${letter}-piece]`);
  }

  /** Clicks pieces of a color until one has destinations, and one of these. Returns the squares. */
  async anyMove(color, board = 0) {
    const host = this.page.locator(`[data-test=board-${board}]`);
    const keys = selector => host.evaluate((element, query) => [...element.querySelectorAll(query)].map(node => node.cgKey), selector);
    for (const from of await keys(`piece.${color}:not(.ghost)`)) {
      await this.click(from, board);
      await this.frame();
      const [to] = await keys('square.move-dest');
      if (to === undefined) continue;
      await this.click(to, board);
      await this.frame();
      const promotion = host.locator('.promotion button');
      if ((await promotion.count()) > 0) await promotion.first().click();
      return [from, to];
    }
    return null;
  }

  /** Waits for two frames, in which the board is drawn. */
  frame() {
    return this.page.evaluate(() => new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  }

  status() {
    return this.page.textContent('#status');
  }

  async waitForStatus(pattern) {
    try {
      await this.page.waitForFunction(
        ([source]) => new RegExp(source).test(document.getElementById('status').textContent),
        [pattern.source],
      );
    } catch {
      throw new Error(`status is "${await this.status()}", expected ${pattern}`);
    }
  }

  async waitForMoves(count) {
    try {
      await this.page.waitForFunction(n => document.querySelectorAll('#moves .move').length >= n, count);
    } catch {
      throw new Error(`moves are "${await this.moves()}", expected ${count}; status is "${await this.status()}"`);
    }
  }

  moves() {
    return this.page.$$eval('#moves .move', nodes => nodes.map(node => node.textContent));
  }

  async isWidePage() {
    return this.page.evaluate(() => document.scrollingElement.scrollWidth > innerWidth);
  }
}
