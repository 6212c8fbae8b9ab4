// Analysis: lines, arrows by share of visits, evaluation bar, evaluation graph, heat map of the policy.

import type { BoardView } from './boardview';
import { otherTeam } from './bughouse';
import { byId, create, createSvg, formatCount } from './dom';
import { lineThrough, type TreeNode } from './game';
import type { EvalReply, HelloReply, InfoEvent, Limits, RootMove, SearchEvent, StateReply } from './messages';
import type { Arrow, Heat } from './overlay';
import { expectedScore, scoreText, wdlOfInfo, wdlOfSideZero, type Wdl } from './score';
import { SIDE_NAMES } from './seats';
import type { Session } from './session';
import { saveSettings, settings } from './settings';
import { arrowsOfTurn, pliesOfTeamTurn, squaresOfTurn } from './turntext';

const RENDER_INTERVAL_MS = 150;
const LEAST_SHARE = 0.03;
const MOST_ARROWS = 6;
const LINE_PLIES = 12;
const ARROWS_OF_LINE = 5;
const NODES_OF_GAME_EVALUATION = 200;
const GRAPH_WIDTH = 300;
const GRAPH_HEIGHT = 80;

export class Analysis {
  running = false;
  views: BoardView[] = [];
  private readonly toggle = byId<HTMLButtonElement>('analyse');
  private readonly linesList = byId('lines');
  private readonly stats = byId('stats');
  private readonly bar = byId('eval-bar');
  private readonly graph = byId('graph');
  private readonly team = byId<HTMLSelectElement>('team');
  private readonly evaluateButton = byId<HTMLButtonElement>('evaluate-game');
  private infos: InfoEvent[] = [];
  private rootMoves: RootMove[] = [];
  private policy: EvalReply | null = null;
  private searched: { node: TreeNode; partial: number; state: StateReply } | null = null;
  private searchNumber = 0;
  private hovered: string[] | null = null;
  private framePending = false;
  private lastRender = 0;
  private shownLines = 0;
  private timer = 0;
  private evaluating = false;

  constructor(
    private readonly session: Session,
    private readonly onError: (message: string) => void,
    private readonly onNote: (text: string) => void,
  ) {
    this.toggle.addEventListener('click', () => (this.running ? this.stop() : this.start()));
    this.evaluateButton.addEventListener('click', () => void this.evaluateGame());
    this.bindSettings();
    this.team.addEventListener('change', () => this.restart());
    this.graph.addEventListener('click', event => this.selectInGraph(event));
  }

  start(): void {
    this.running = true;
    this.showToggle();
    this.restart();
  }

  stop(): void {
    this.evaluating = false;
    if (!this.running) return;
    this.running = false;
    this.searchNumber += 1;
    this.session.socket.request('stop').catch(() => {});
    this.showToggle();
  }

  /** Call after a change of the position. */
  positionChanged(): void {
    const { tree, partial, state } = this.session;
    this.team.parentElement!.hidden = this.session.variant.boards === 1;
    const same = this.searched !== null && this.searched.node === tree.current && this.searched.partial === partial.length;
    if (!same || state !== this.searched?.state) this.restart();
    this.renderGraph();
  }

  /** Removes what is drawn on the boards. */
  clear(): void {
    this.infos = [];
    this.rootMoves = [];
    this.policy = null;
    this.hovered = null;
    this.render();
  }

  reconnected(): void {
    this.searched = null;
    if (this.running) this.restart();
  }

  private restart(): void {
    const { session } = this;
    const state = session.state;
    this.infos = [];
    this.rootMoves = [];
    this.policy = null;
    this.hovered = null;
    this.searched = state === null ? null : { node: session.tree.current, partial: session.partial.length, state };
    const number = ++this.searchNumber;
    clearTimeout(this.timer);
    this.framePending = false;
    this.shownLines = 0;
    this.scheduleRender();
    if (state === null || state.outcome !== null) return;
    if (settings.heat && !document.body.classList.contains('playing')) void this.fetchPolicy(number);
    if (!this.running) return;
    const teamState = this.withTeam(state);
    session.socket
      .search({ position: session.position(), team: this.teamOf(state), limits: { infinite: true }, multipv: settings.lines, elo: null }, event => {
        if (number === this.searchNumber) this.received(event, teamState);
      })
      .catch((error: Error) => {
        if (number !== this.searchNumber) return;
        // A search that is refused does not end the one before it.
        this.stop();
        this.onError(error.message);
      });
  }

  /** Returns the team that bughouse is analysed for. */
  private teamOf(state: StateReply): number | undefined {
    return state.boards.length === 2 ? otherTeam(Number(this.team.value), state) : undefined;
  }

  private withTeam(state: StateReply): StateReply {
    return state.boards.length === 2 ? { ...state, turn: Number(this.team.value) } : state;
  }

  private received(event: SearchEvent, state: StateReply): void {
    switch (event.type) {
      case 'info':
        this.infos[event.rank - 1] = event;
        if (event.rank === 1 && state.sides === 2 && this.searched !== null && this.searched.partial === 0) {
          this.searched.node.value = expectedScore(wdlOfSideZero(wdlOfInfo(event), state));
        }
        break;
      case 'moves':
        this.rootMoves = event.moves;
        break;
      case 'note':
        this.onNote(event.text);
        break;
      case 'bestmove':
        // An infinite search ends by itself when the position is solved.
        this.showToggle();
        break;
    }
    this.scheduleRender();
  }

  private async fetchPolicy(number: number): Promise<void> {
    // The policy is that of whole turns.
    if (this.session.partial.length > 0) return;
    try {
      const policy = await this.session.socket.request<EvalReply>('eval', { position: this.session.position() });
      if (number !== this.searchNumber) return;
      this.policy = policy;
      this.scheduleRender();
    } catch (error) {
      if (number === this.searchNumber) this.onError((error as Error).message);
    }
  }

  private bindSettings(): void {
    const lines = byId<HTMLSelectElement>('line-count');
    const arrows = byId<HTMLInputElement>('show-arrows');
    const heat = byId<HTMLInputElement>('show-heat');
    lines.value = String(settings.lines);
    arrows.checked = settings.arrows;
    heat.checked = settings.heat;
    lines.addEventListener('change', () => {
      settings.lines = Number(lines.value);
      saveSettings();
      this.restart();
    });
    arrows.addEventListener('change', () => {
      settings.arrows = arrows.checked;
      saveSettings();
      this.render();
    });
    this.bindOption('threads', 'Threads');
    this.bindOption('hash', 'Hash');
    heat.addEventListener('change', () => {
      settings.heat = heat.checked;
      saveSettings();
      this.policy = null;
      if (settings.heat) void this.fetchPolicy(this.searchNumber);
      this.render();
    });
  }

  private bindOption(id: 'threads' | 'hash', name: string): void {
    const field = byId<HTMLInputElement>(id);
    field.addEventListener('change', () => {
      settings[id] = field.value === '' ? null : Number(field.value);
      saveSettings();
      void this.sendOption(id, name).then(() => this.restart());
    });
  }

  /** Sets the options of the engine that the user has chosen. Call after each connection. */
  async sendOptions(engine: HelloReply['engine']): Promise<void> {
    byId<HTMLInputElement>('threads').max = String(engine.maxThreads ?? 1024);
    byId<HTMLInputElement>('threads').placeholder = String(engine.threads);
    byId<HTMLInputElement>('hash').placeholder = String(engine.hash);
    await this.sendOption('threads', 'Threads');
    await this.sendOption('hash', 'Hash');
  }

  private async sendOption(id: 'threads' | 'hash', name: string): Promise<void> {
    const value = settings[id];
    if (value === null) return;
    try {
      const reply = await this.session.socket.request<{ value: string }>('option', { name, value });
      byId<HTMLInputElement>(id).value = reply.value;
    } catch (error) {
      this.onError((error as Error).message);
    }
  }

  // Drawing

  private scheduleRender(): void {
    if (this.framePending) return;
    this.framePending = true;
    // The first line of a position is shown at once.
    const wait = this.shownLines === 0 ? 0 : this.lastRender + RENDER_INTERVAL_MS - performance.now();
    this.timer = setTimeout(() => requestAnimationFrame(() => this.renderNow()), Math.max(0, wait));
  }

  private renderNow(): void {
    this.framePending = false;
    this.lastRender = performance.now();
    this.shownLines = this.infos.length;
    this.render();
  }

  private showToggle(): void {
    this.toggle.setAttribute('aria-pressed', String(this.running));
    this.toggle.textContent = this.running ? 'Stop analysis' : 'Start analysis';
  }

  private render(): void {
    this.renderLines();
    this.renderStats();
    this.renderBar();
    this.renderBoards();
    this.renderGraph();
  }

  private renderLines(): void {
    const state = this.searched === null ? null : this.withTeam(this.searched.state);
    if (state === null) return;
    const infos = this.infos.slice(0, settings.lines).filter(info => info !== undefined);
    // Lines are updated in place, so that the focus and the pointer stay on a move.
    while (this.linesList.children.length > infos.length) this.linesList.lastElementChild?.remove();
    infos.forEach((info, i) => {
      const key = `${info.pv.join(' ')} ${JSON.stringify(info.score)}`;
      const old = this.linesList.children[i] as HTMLElement | undefined;
      if (old?.dataset.key === key) return;
      if (old?.contains(document.activeElement) || old?.matches(':hover')) {
        (old.querySelector('.score') as HTMLElement).textContent = scoreText(info.score, state);
        return;
      }
      const line = this.line(info, state);
      line.dataset.key = key;
      if (old === undefined) this.linesList.append(line);
      else old.replaceWith(line);
    });
  }

  private line(info: InfoEvent, state: StateReply): HTMLElement {
    const item = create('li', {}, create('span', { class: 'score' }, scoreText(info.score, state)));
    const moves = create('span', { class: 'pv' });
    info.pv.slice(0, LINE_PLIES).forEach((move, i) => {
      const button = create('button', { type: 'button', tabindex: i === 0 ? 0 : -1 }, info.pvSan?.[i] ?? move);
      button.addEventListener('click', () => void this.playLine(info.pv.slice(0, i + 1)));
      button.addEventListener('focus', () => this.hover(info.pv.slice(0, i + 1)));
      button.addEventListener('mouseenter', () => this.hover(info.pv.slice(0, i + 1)));
      button.addEventListener('blur', () => this.hover(null));
      moves.append(button, ' ');
    });
    item.addEventListener('mouseleave', () => this.hover(null));
    item.append(moves);
    return item;
  }

  private hover(line: string[] | null): void {
    this.hovered = line;
    this.renderBoards();
  }

  private async playLine(line: string[]): Promise<void> {
    const { session } = this;
    for (const move of line) {
      for (const ply of this.orderedPlies(move)) {
        const seat = session.seats.findIndex(
          other => session.variant.boards === 2 && other.board === Number(ply[0]) - 1 && other.color === session.state?.boards[other.board].turn,
        );
        if (!(await session.playTurn(ply, seat >= 0 ? seat : (session.state?.turn ?? 0)))) return;
      }
    }
  }

  /** Puts the ply first that is legal now: a drop may need the capture on the other board. */
  private orderedPlies(move: string): string[] {
    const plies = pliesOfTeamTurn(move);
    const legal = (ply: string): boolean =>
      this.session.state?.legal.some(other => other.ply === ply || `${other.board + 1}${other.ply}` === ply) === true;
    return plies.length === 2 && !legal(plies[0]) ? plies.reverse() : plies;
  }

  private renderStats(): void {
    const info = this.infos[0];
    if (info === undefined) {
      this.stats.textContent = this.running ? 'Searching' : 'The engine is not running.';
      return;
    }
    const parts = [`Depth ${info.depth}/${info.seldepth}`, `${formatCount(info.nodes)} nodes`, `${formatCount(info.nps)}/s`];
    if (info.hashfull > 0) parts.push(`hash ${Math.round(info.hashfull / 10)}%`);
    this.stats.textContent = parts.join(' · ');
  }

  private currentWdl(): Wdl | null {
    const info = this.infos[0];
    if (this.searched === null) return null;
    const state = this.withTeam(this.searched.state);
    if (info !== undefined) return wdlOfSideZero(wdlOfInfo(info), state);
    if (this.policy !== null && this.policy.wdl !== null) return wdlOfSideZero(this.policy.wdl, this.searched.state);
    const outcome = this.searched.state.outcome;
    if (outcome !== null && state.sides === 2) return outcome.winner === null ? [0, 1, 0] : outcome.winner === 0 ? [1, 0, 0] : [0, 0, 1];
    const value = this.searched.node.value;
    return value === null ? null : [value, 0, 1 - value];
  }

  private renderBar(): void {
    if (this.session.variant.sides > 2) {
      this.renderSides();
      return;
    }
    const wdl = this.currentWdl();
    const [win, draw, loss] = wdl ?? [0, 1, 0];
    const percent = (x: number): string => `${Math.round(100 * x)}%`;
    const [first, second] =
      this.session.variant.boards === 2 ? ['White on A and Black on B', 'White on B and Black on A'] : ['White', 'Black'];
    const text = `${first}: win ${percent(win)}, draw ${percent(draw)}, loss ${percent(loss)}; ${second} the reverse`;
    this.showBar(
      [
        ['loss', loss],
        ['draw', draw],
        ['win', win],
      ],
      wdl === null ? 'No evaluation' : text,
      wdl === null ? '' : `W ${percent(win)} D ${percent(draw)} L ${percent(loss)}`,
    );
  }

  /** With more than two sides, the bar has the expected score of each. */
  private renderSides(): void {
    const values = this.infos[0]?.values;
    if (values === undefined) {
      this.showBar([['draw', 1]], 'No evaluation', '');
      return;
    }
    const scores = values.map((value, side) => `${SIDE_NAMES[side] ?? side + 1} ${((value + 1) / 2).toFixed(2)}`);
    this.showBar(
      values.map((value, side) => [`side-${side}`, (value + 1) / 2]),
      `Expected scores: ${scores.join(', ')}`,
      scores.join(' '),
    );
  }

  private showBar(parts: [string, number][], label: string, text: string): void {
    const names = parts.map(([name]) => name).join(' ');
    if (this.bar.dataset.parts !== names) {
      this.bar.dataset.parts = names;
      this.bar.replaceChildren(...parts.map(([name]) => create('span', { class: name })));
    }
    parts.forEach(([, share], i) => (this.bar.children[i] as HTMLElement).style.setProperty('flex-grow', String(share)));
    this.bar.classList.toggle('empty', text === '');
    this.bar.setAttribute('aria-label', label);
    this.bar.title = label;
    byId('wdl').textContent = text;
  }

  private renderBoards(): void {
    for (const view of this.views) {
      view.overlay.setArrows(this.arrows(view.index));
      view.overlay.setHeat(settings.heat ? this.heat(view.index) : []);
    }
  }

  private arrows(board: number): Arrow[] {
    if (this.hovered !== null) {
      return this.hovered
        .slice(0, ARROWS_OF_LINE)
        .flatMap((move, i) => arrowsOfTurn(move, board, { weight: 0.25, kind: 'line', label: String(i + 1) }));
    }
    if (!settings.arrows || this.infos.length === 0) return [];
    // Without visits of the root the lines are drawn by rank.
    const shares: { move: string; share: number }[] =
      this.rootMoves.length > 0
        ? this.rootMoves.filter(root => root.share >= LEAST_SHARE)
        : this.infos.filter(info => info?.pv[0] !== undefined).map((info, i) => ({ move: info.pv[0], share: 0.6 / (i + 1) }));
    const arrows: Arrow[] = [];
    const best = this.infos[0]?.pv[0] ?? shares[0]?.move ?? '';
    for (const { move, share } of shares.slice(0, MOST_ARROWS)) {
      const kind = beginsWith(best, move) ? 'best' : 'other';
      arrows.push(...arrowsOfTurn(kind === 'best' ? best : move, board, { weight: share, kind }));
    }
    return mergeArrows(arrows);
  }

  private heat(board: number): Heat[] {
    const sums = new Map<string, number>();
    const legal = this.session.legal(board);
    for (const { ply, p } of this.policy?.policy ?? []) {
      const squares =
        legal.find(other => other.ply === ply)?.to ?? squaresOfTurn(ply).find(other => other.board === board)?.to ?? null;
      if (squares !== null) sums.set(squares, (sums.get(squares) ?? 0) + p);
    }
    return [...sums].filter(([, p]) => p >= 0.005).map(([square, probability]) => ({ square, probability }));
  }

  // The evaluation graph

  private graphLine(): TreeNode[] {
    const { tree } = this.session;
    return [tree.root, ...lineThrough(tree.current)];
  }

  private renderGraph(): void {
    const line = this.graphLine();
    const points = line.flatMap((node, i) => (node.value === null ? [] : [[this.graphX(i, line.length), (1 - node.value) * GRAPH_HEIGHT]]));
    this.graph.hidden = points.length < 2;
    if (this.graph.hidden) return;
    const path = points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join('L');
    const first = points[0][0].toFixed(1);
    const last = points[points.length - 1][0].toFixed(1);
    const now = this.graphX(line.indexOf(this.session.tree.current), line.length);
    const svg = createSvg(
      'svg',
      { viewBox: `0 0 ${GRAPH_WIDTH} ${GRAPH_HEIGHT}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': 'Evaluation of the game' },
      createSvg('path', { class: 'area', d: `M${first} ${GRAPH_HEIGHT}L${path}L${last} ${GRAPH_HEIGHT}Z` }),
      createSvg('line', { class: 'middle', x1: 0, x2: GRAPH_WIDTH, y1: GRAPH_HEIGHT / 2, y2: GRAPH_HEIGHT / 2 }),
      createSvg('path', { class: 'curve', d: `M${path}` }),
      createSvg('line', { class: 'now', x1: now, x2: now, y1: 0, y2: GRAPH_HEIGHT }),
    );
    if (this.graph.firstElementChild?.outerHTML !== svg.outerHTML) this.graph.replaceChildren(svg);
  }

  private graphX(index: number, count: number): number {
    return count < 2 ? 0 : (index / (count - 1)) * GRAPH_WIDTH;
  }

  private selectInGraph(event: MouseEvent): void {
    const bounds = this.graph.getBoundingClientRect();
    const line = this.graphLine();
    const index = Math.round(((event.clientX - bounds.left) / bounds.width) * (line.length - 1));
    const node = line[Math.max(0, Math.min(line.length - 1, index))];
    void this.session.goTo(node);
  }

  /** Searches each position of the line that has no evaluation. */
  private async evaluateGame(): Promise<void> {
    if (this.evaluating) {
      this.evaluating = false;
      return;
    }
    this.stop();
    this.evaluating = true;
    this.evaluateButton.textContent = 'Stop evaluation';
    for (const node of this.graphLine()) {
      if (!this.evaluating) break;
      if (node.value === null) await this.evaluateNode(node);
      this.renderGraph();
    }
    this.evaluating = false;
    this.evaluateButton.textContent = 'Evaluate game';
    this.session.changed();
  }

  private async evaluateNode(node: TreeNode): Promise<void> {
    const { socket } = this.session;
    const position = this.session.position(node, []);
    const limits: Limits = { nodes: NODES_OF_GAME_EVALUATION };
    try {
      const state = await socket.request<StateReply>('state', { position });
      if (state.outcome !== null) {
        node.value = state.outcome.winner === null ? 0.5 : state.outcome.winner === 0 ? 1 : 0;
        return;
      }
      let last: InfoEvent | null = null;
      await new Promise<void>((resolve, reject) => {
        socket
          .search({ position, limits, multipv: 1, elo: null }, event => {
            if (event.type === 'info' && event.rank === 1) last = event;
            if (event.type === 'bestmove') resolve();
          })
          .catch(reject);
      });
      if (last !== null) node.value = expectedScore(wdlOfSideZero(wdlOfInfo(last), state));
    } catch (error) {
      this.evaluating = false;
      this.onError((error as Error).message);
    }
  }
}

/** Returns whether a ply is the first of a turn. */
function beginsWith(turn: string, ply: string): boolean {
  const [first] = squaresOfTurn(ply);
  return squaresOfTurn(turn).some(
    (other, i) => (i === 0 || other.board > 0) && other.board === first?.board && other.from === first.from && other.to === first.to,
  );
}

/** Adds the weights of arrows between the same squares, as of promotions to different pieces. */
function mergeArrows(arrows: Arrow[]): Arrow[] {
  const merged = new Map<string, Arrow>();
  for (const arrow of arrows) {
    const key = `${arrow.from}${arrow.to}`;
    const existing = merged.get(key);
    if (existing === undefined) merged.set(key, { ...arrow });
    else {
      existing.weight += arrow.weight;
      if (arrow.kind === 'best') existing.kind = 'best';
    }
  }
  return [...merged.values()];
}
