// The squares of moves in the engine's notation.

import type { Arrow } from './overlay';

export interface MoveSquares {
  board: number;
  from: string | null;
  to: string;
}

const PLY = /^([12])?(?:[A-Za-z]?@([a-h][1-8])|([a-h][1-8])([a-h][1-8])\+?[a-z]?|([a-h][1-8]))$/;

/** Returns the squares of each ply of a turn: `e2e4`, `N@f3`, `c2`, `e2e4,e4e5`, `1e2e4` or `(e2e4,pass)`. */
export function squaresOfTurn(turn: string): MoveSquares[] {
  const perBoard = turn.startsWith('(');
  const plies = turn.replace(/[()]/g, '').split(',');
  const squares: MoveSquares[] = [];
  plies.forEach((ply, i) => {
    const match = PLY.exec(ply.trim());
    if (match === null) return;
    const board = perBoard ? i : Number(match[1] ?? 1) - 1;
    // The second half of a turn places a wall: its origin is only where the piece went.
    const wall = !perBoard && i > 0;
    squares.push({ board, from: wall ? null : (match[3] ?? null), to: match[2] ?? match[4] ?? match[5] });
  });
  return squares;
}

export function arrowsOfTurn(turn: string, board: number, style: Omit<Arrow, 'from' | 'to'>): Arrow[] {
  return squaresOfTurn(turn)
    .filter(squares => squares.board === board)
    .map(squares => ({ ...style, from: squares.from, to: squares.to }));
}

/** Returns the single plies of a team's turn in bughouse: `(e2e4,d7d5)` as `1e2e4` and `2d7d5`. */
export function pliesOfTeamTurn(turn: string): string[] {
  if (!turn.startsWith('(')) return [turn];
  return turn
    .slice(1, -1)
    .split(',')
    .flatMap((ply, board) => (ply === 'pass' ? [] : [`${board + 1}${ply}`]));
}
