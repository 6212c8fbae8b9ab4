// PGN and BPGN in both directions.

import { GameTree, movesTo, type Setup, type TreeNode } from './game';
import type { Position, VariantInfo } from './messages';
import type { GameResult } from './play';
import type { Seat } from './seats';
import type { Socket } from './socket';

const RESULTS = ['1-0', '0-1', '1/2-1/2', '*'];
const LINE_LENGTH = 80;

/** Names in PGN files that differ from the names of the variants. */
const ALIASES: Record<string, string> = {
  standard: 'chess',
  normal: 'chess',
  fromposition: 'chess',
  chess960: 'chess',
  fischerandom: 'chess',
  fischerrandom: 'chess',
  threecheck: '3check',
  fivecheck: '5check',
  bughouse: 'bughouse2',
  duckchess: 'duck',
  zh: 'crazyhouse',
};

interface ParsedMove {
  san: string;
  /** 0 or 1 in BPGN. */
  board: number | null;
  white: boolean;
  comment: string;
  variations: ParsedMove[][];
}

interface ParsedGame {
  tags: Map<string, string>;
  moves: ParsedMove[];
  result: string;
}

// Writing

export function writePgn(tree: GameTree, variant: VariantInfo, seats: Seat[], players: string[], result: GameResult | null): string {
  const tags: [string, string][] = [
    ['Event', 'Game on the board of Menagerie'],
    ['Site', '?'],
    ['Date', new Date().toISOString().slice(0, 10).replaceAll('-', '.')],
    ['Round', '-'],
  ];
  if (variant.boards === 2) {
    ['WhiteA', 'BlackA', 'WhiteB', 'BlackB'].forEach((name, seat) => tags.push([name, playerName(players[seat])]));
  } else if (variant.places) {
    seats.forEach((seat, i) => tags.push([seat.label, playerName(players[i])]));
  } else {
    tags.push(['White', playerName(players[0])], ['Black', playerName(players[1])]);
  }
  const text = result !== null && RESULTS.includes(result.text) ? result.text : '*';
  tags.push(['Result', text]);
  if (variant.name !== 'chess') tags.push(['Variant', variant.name]);
  else if (tree.setup.chess960) tags.push(['Variant', 'Chess960']);
  if (tree.setup.fen !== null) tags.push(['SetUp', '1'], ['FEN', tree.setup.fen]);
  if (result !== null) tags.push(['Termination', result.reason]);
  const head = tags.map(([name, value]) => `[${name} "${value.replace(/["\\]/g, '\\$&')}"]`).join('\n');
  const words = writeLine(tree.root, numberWriter(tree.setup, variant, seats), true);
  return `${head}\n\n${wrap([...words, text])}\n`;
}

function playerName(player: string | undefined): string {
  return player === 'engine' ? 'Menagerie' : '?';
}

type NumberWriter = (node: TreeNode, atStart: boolean) => string;

function numberWriter(setup: Setup, variant: VariantInfo, seats: Seat[]): NumberWriter {
  if (variant.boards === 2) {
    return node => {
      const seat = seats[node.seat];
      let count = 1;
      for (let step = node.parent; step !== null && step.parent !== null; step = step.parent) {
        if (step.seat === node.seat) count += 1;
      }
      const letter = seat.board === 0 ? 'A' : 'B';
      return `${count}${seat.color === 'white' ? letter : letter.toLowerCase()}.`;
    };
  }
  const fields = (setup.fen ?? variant.fen).split(' ');
  const last = Number(fields.at(-1));
  const first = Number.isInteger(last) && last > 0 ? last : 1;
  const offset = fields[1] === 'b' ? 1 : 0;
  return (node, atStart) => {
    const depth = movesTo(node).length - 1;
    if (variant.sides !== 2) return `${depth + 1}.`;
    const index = depth + offset;
    const number = first + Math.floor(index / 2);
    if (index % 2 === 0) return `${number}.`;
    return atStart ? `${number}...` : '';
  };
}

function writeLine(root: TreeNode, number: NumberWriter, atStart: boolean): string[] {
  const words: string[] = [];
  let first = atStart;
  for (let parent = root; parent.children.length > 0; parent = parent.children[0]) {
    const [main, ...variations] = parent.children;
    words.push(...writeMove(main, number, first));
    first = false;
    for (const variation of variations) {
      const line = [...writeMove(variation, number, true), ...writeLine(variation, number, false)];
      line[0] = `(${line[0]}`;
      line[line.length - 1] += ')';
      words.push(...line);
      first = true;
    }
  }
  return words;
}

function writeMove(node: TreeNode, number: NumberWriter, atStart: boolean): string[] {
  const words: string[] = [];
  const text = number(node, atStart);
  if (text !== '') words.push(text);
  words.push(node.san);
  const clock = node.clocks?.[node.seat];
  const comment = [clock === undefined ? '' : (clock / 1000).toFixed(1), node.comment.replaceAll('}', ')')].filter(Boolean).join(' ');
  if (comment !== '') words.push(`{${comment}}`);
  return words;
}

function wrap(words: string[]): string {
  const lines: string[] = [];
  let line = '';
  for (const word of words) {
    if (line !== '' && line.length + 1 + word.length > LINE_LENGTH) {
      lines.push(line);
      line = word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  lines.push(line);
  return lines.join('\n');
}

// Reading

const TOKEN = /\[\s*(\w+)\s+"((?:[^"\\]|\\.)*)"\s*\]|\{([^}]*)\}|;[^\n]*|\$\d+|([()])|(\d+)([ABab]?)\.+|([^\s(){};]+)/g;

/** Parses the first game of a text. */
export function parsePgn(text: string): ParsedGame {
  const tags = new Map<string, string>();
  const moves: ParsedMove[] = [];
  let line = moves;
  let result = '*';
  let board: number | null = null;
  let white = true;
  const open: ParsedMove[][] = [];
  for (const match of text.matchAll(TOKEN)) {
    const [, tag, value, comment, bracket, number, letter, word] = match;
    if (tag !== undefined) {
      if (moves.length > 0) break;
      tags.set(tag, value.replace(/\\(.)/g, '$1'));
    } else if (comment !== undefined) {
      const last = line.at(-1);
      if (last !== undefined) last.comment = [last.comment, comment.trim()].filter(Boolean).join(' ');
    } else if (bracket === '(') {
      const last = line.at(-1);
      if (last === undefined) throw new Error('"(" without a move before it');
      const variation: ParsedMove[] = [];
      last.variations.push(variation);
      open.push(line);
      line = variation;
    } else if (bracket === ')') {
      const outer = open.pop();
      if (outer === undefined) throw new Error('")" without "("');
      line = outer;
    } else if (number !== undefined) {
      board = letter === '' ? null : letter.toUpperCase() === 'A' ? 0 : 1;
      white = letter === letter.toUpperCase();
    } else if (word !== undefined) {
      if (RESULTS.includes(word)) {
        if (open.length > 0) continue;
        result = word;
        break;
      }
      const san = word.replace(/[!?]+$/, '');
      if (san !== '') line.push({ san, board, white, comment: '', variations: [] });
    }
  }
  if (open.length > 0) throw new Error('"(" without ")"');
  return { tags, moves, result };
}

/** Reads a PGN or BPGN text to a game. The server resolves the moves. */
export async function readPgn(
  text: string,
  variants: VariantInfo[],
  socket: Socket,
): Promise<{ tree: GameTree; result: string; termination: string }> {
  const game = parsePgn(text);
  if (game.moves.length === 0 && game.tags.size === 0) throw new Error('no game in the text');
  const setup = setupOf(game, variants);
  const tree = new GameTree(setup);
  const variant = variants.find(other => other.name === setup.variant) as VariantInfo;
  await readLine(tree, tree.root, game.moves, variant, socket);
  let tip = tree.root;
  while (tip.children.length > 0) tip = tip.children[0];
  tree.tip = tip;
  tree.current = tip;
  return { tree, result: game.result, termination: game.tags.get('Termination') ?? '' };
}

function setupOf(game: ParsedGame, variants: VariantInfo[]): Setup {
  const tag = game.tags.get('Variant') ?? (game.tags.has('WhiteA') ? 'bughouse2' : 'chess');
  const key = normalizeName(tag);
  const boards = game.tags.has('WhiteA') || game.moves.some(move => move.board !== null);
  const name = key === 'bughouse' && !boards ? 'bughouse' : (ALIASES[key] ?? key);
  const variant = variants.find(other => normalizeName(other.name) === name || normalizeName(other.title) === name);
  if (variant === undefined) throw new Error(`unknown variant "${tag}"`);
  const chess960 = ['chess960', 'fischerandom', 'fischerrandom'].includes(key);
  return { variant: variant.name, fen: game.tags.get('FEN') ?? null, chess960 };
}

function normalizeName(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '');
}

async function readLine(tree: GameTree, start: TreeNode, moves: ParsedMove[], variant: VariantInfo, socket: Socket): Promise<void> {
  let node = start;
  for (const parsed of moves) {
    const position: Position = { ...tree.setup, moves: movesTo(node), plies: [], clocks: null };
    const request = variant.boards === 2 ? { position, text: parsed.san, board: parsed.board ?? 0 } : { position, text: parsed.san };
    const { move } = await socket.request<{ move: string }>('san', request);
    const turn = variant.boards === 2 && !/^[12]/.test(move) ? `${(parsed.board ?? 0) + 1}${move}` : move;
    const next = tree.add(node, turn, parsed.san, seatOf(parsed, node, tree, variant));
    next.comment = parsed.comment;
    for (const variation of parsed.variations) await readLine(tree, node, variation, variant, socket);
    node = next;
  }
}

function seatOf(parsed: ParsedMove, parent: TreeNode, tree: GameTree, variant: VariantInfo): number {
  if (variant.boards === 2) return 2 * (parsed.board ?? 0) + (parsed.white ? 0 : 1);
  const offset = (tree.setup.fen ?? variant.fen).split(' ')[1] === 'b' ? 1 : 0;
  return (movesTo(parent).length + offset) % variant.sides;
}
