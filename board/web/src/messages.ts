// The messages of the socket.

export type Letter = string;
export type Color = 'white' | 'black';

export interface VariantInfo {
  name: string;
  title: string;
  files: number;
  ranks: number;
  sides: number;
  boards: 1 | 2;
  roles: string;
  drops: string;
  promotions: string;
  places: boolean;
  walls: boolean;
  fen: string;
  hidden: boolean;
  network: boolean;
}

export interface HelloReply {
  version: string;
  variants: VariantInfo[];
  engine: { hash: number; threads: number; maxThreads?: number };
}

export interface Position {
  variant: string;
  fen: string | null;
  chess960: boolean;
  moves: string[];
  plies: string[];
  clocks: number[] | null;
}

export interface BoardState {
  turn: Color;
  pieces: Record<string, Letter>;
  cells?: Record<string, number> | null;
  walls: string[];
  pockets: { white: Record<string, number>; black: Record<string, number> } | null;
  check: string | null;
  promoted: string[];
  checks: [number, number] | null;
  mayMove: boolean;
  drawn: boolean;
}

export interface PlySquares {
  board: number;
  from: string | null;
  to: string | null;
  drop: string | null;
}

export interface Legal extends PlySquares {
  ply: string;
  promotion: string | null;
  wall: boolean;
  pass: boolean;
  castling: boolean;
  alternatives?: string[];
}

export interface Outcome {
  winner: number | null;
  reason: string;
  text: string;
}

export interface StateReply {
  fen: string;
  turn: number;
  sides: number;
  midTurn: boolean;
  boards: BoardState[];
  legal: Legal[];
  san: string[];
  lastMoves: PlySquares[];
  outcome: Outcome | null;
  claimable: boolean;
  claim?: Outcome | null;
  complete: string | null;
  completeSan?: string | null;
}

export type Limits =
  | { infinite: true }
  | { movetime: number }
  | { nodes: number }
  | { depth: number }
  | { wtime: number; btime: number; winc: number; binc: number };

export interface InfoEvent {
  type: 'info';
  rank: number;
  depth: number;
  seldepth: number;
  score: { cp: number } | { mate: number };
  wdl: [number, number, number] | null;
  /** The expected score of each side, from -1 to 1. */
  values?: number[];
  nodes: number;
  nps: number;
  time: number;
  hashfull: number;
  pv: string[];
  pvSan?: string[];
}

export interface RootMove {
  move: string;
  visits: number;
  share: number;
  value: number;
}

export interface MovesEvent {
  type: 'moves';
  moves: RootMove[];
}

export interface NoteEvent {
  type: 'note';
  text: string;
}

export interface BestMoveEvent {
  type: 'bestmove';
  move: string | null;
  ponder: string | null;
}

export type SearchEvent = InfoEvent | MovesEvent | NoteEvent | BestMoveEvent;

export interface EvalReply {
  /** Null if the game is over. */
  wdl: [number, number, number] | null;
  policy: { ply: string; p: number }[];
}

/** A turn. Of the opponent's turns only `captured` is known before the end. */
export interface RbcLogEntry {
  color: Color;
  sense: string | null;
  request: string | null;
  taken: string | null;
  captured: string | null;
}

export interface RbcView {
  phase: 'sense' | 'move' | 'wait' | 'over';
  color: Color;
  pieces: Record<string, Letter>;
  seen: Record<string, number>;
  requests: string[];
  log: RbcLogEntry[];
  clock: number[];
  outcome: Outcome | null;
  truth: { fens: string[] } | null;
}

export interface RbcReply {
  token: string;
  view: RbcView;
}

export interface RbcTurnEvent {
  type: 'rbc.turn';
  token: string;
  view: RbcView;
}
