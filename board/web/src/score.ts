// Evaluations as text and as expected score of side 0.

import type { InfoEvent, StateReply } from './messages';

export type Wdl = [number, number, number];

/** Returns win, draw and loss as fractions of their sum. */
export function normalizeWdl(wdl: Wdl): Wdl {
  const sum = wdl[0] + wdl[1] + wdl[2];
  return sum === 0 ? [0, 1, 0] : [wdl[0] / sum, wdl[1] / sum, wdl[2] / sum];
}

/** Returns the WDL of side 0. With more than two sides it stays that of the side to move. */
export function wdlOfSideZero(wdl: Wdl, state: StateReply): Wdl {
  const [win, draw, loss] = normalizeWdl(wdl);
  return isInverted(state) ? [loss, draw, win] : [win, draw, loss];
}

export function expectedScore(wdl: Wdl): number {
  return wdl[0] + wdl[1] / 2;
}

function isInverted(state: StateReply): boolean {
  return state.sides === 2 && state.turn === 1;
}

/** Returns the score of side 0, or of the side to move with more than two sides. */
export function scoreText(score: InfoEvent['score'], state: StateReply): string {
  const sign = isInverted(state) ? -1 : 1;
  if ('mate' in score) return `#${sign * score.mate}`;
  const pawns = (sign * score.cp) / 100;
  return pawns > 0 ? `+${pawns.toFixed(2)}` : pawns.toFixed(2);
}

export function wdlOfInfo(info: InfoEvent): Wdl {
  if (info.wdl !== null && info.wdl !== undefined) return info.wdl;
  if ('mate' in info.score) return info.score.mate > 0 ? [1, 0, 0] : [0, 0, 1];
  const win = 1 / (1 + 10 ** (-info.score.cp / 400));
  return [win, 0, 1 - win];
}
