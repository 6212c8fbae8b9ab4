// Squares and their coordinates.

import type { Color } from './messages';

export interface Size {
  files: number;
  ranks: number;
}

export function fileOf(square: string): number {
  return square.charCodeAt(0) - 97;
}

export function rankOf(square: string): number {
  return Number(square.slice(1)) - 1;
}

export function squareName(file: number, rank: number): string {
  return String.fromCharCode(97 + file) + String(rank + 1);
}

/** Returns column and row of a square on the screen, counted from the top left corner. */
export function screenPosition(square: string, size: Size, orientation: Color): [number, number] {
  const file = fileOf(square);
  const rank = rankOf(square);
  return orientation === 'white' ? [file, size.ranks - 1 - rank] : [size.files - 1 - file, rank];
}

/** Returns the board part of a FEN. */
export function boardFen(pieces: Record<string, string>, promoted: string[], walls: string[], size: Size): string {
  const rows: string[] = [];
  for (let rank = size.ranks - 1; rank >= 0; rank--) {
    let row = '';
    let empty = 0;
    for (let file = 0; file < size.files; file++) {
      const square = squareName(file, rank);
      const content = walls.includes(square) ? '*' : pieces[square];
      if (content === undefined) {
        empty += 1;
        continue;
      }
      if (empty > 0) row += String(empty);
      empty = 0;
      row += content;
      if (promoted.includes(square) && content !== '*') row += '~';
    }
    if (empty > 0) row += String(empty);
    rows.push(row);
  }
  return rows.join('/');
}

/** Returns the squares within one step of a square, itself included. */
export function squaresAround(square: string, size: Size): string[] {
  const around: string[] = [];
  for (let file = fileOf(square) - 1; file <= fileOf(square) + 1; file++) {
    for (let rank = rankOf(square) - 1; rank <= rankOf(square) + 1; rank++) {
      if (file >= 0 && file < size.files && rank >= 0 && rank < size.ranks) around.push(squareName(file, rank));
    }
  }
  return around;
}
