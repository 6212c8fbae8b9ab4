// The game tree: moves with variations, the current node, and its form in localStorage.

/** The position from which a game starts. */
export interface Setup {
  variant: string;
  fen: string | null;
  chess960: boolean;
}

export interface TreeNode {
  readonly id: number;
  readonly parent: TreeNode | null;
  /** The whole turn, or one ply with its board in bughouse. Empty for the root. */
  readonly move: string;
  san: string;
  /** The seat that moved. */
  readonly seat: number;
  children: TreeNode[];
  /** The expected score of side 0, from 0 to 1, if known. */
  value: number | null;
  /** Clocks after the move in milliseconds. */
  clocks: number[] | null;
  comment: string;
}

interface StoredNode {
  m: string;
  s: string;
  p: number;
  v?: number;
  t?: number[];
  c?: string;
  k?: StoredNode[];
}

export interface StoredTree {
  setup: Setup;
  root: StoredNode;
  /** The path to the current node, as indices of children. */
  current: number[];
  /** The path to the end of the game as it was played. */
  tip: number[];
}

export class GameTree {
  readonly root: TreeNode;
  current: TreeNode;
  /** The end of the game as it was played. Analysis adds variations and does not move it. */
  tip: TreeNode;
  private nextId = 1;

  constructor(readonly setup: Setup) {
    this.root = this.createNode(null, '', '', 0);
    this.current = this.root;
    this.tip = this.root;
  }

  /** Returns the child with this move, which is created if there is none. */
  add(parent: TreeNode, move: string, san: string, seat: number): TreeNode {
    const existing = parent.children.find(child => child.move === move);
    if (existing !== undefined) return existing;
    const node = this.createNode(parent, move, san, seat);
    parent.children.push(node);
    return node;
  }

  /** Removes a node and all that follows it. */
  remove(node: TreeNode): void {
    const parent = node.parent;
    if (parent === null) return;
    parent.children = parent.children.filter(child => child !== node);
    if (isAncestor(node, this.current)) this.current = parent;
    if (isAncestor(node, this.tip)) this.tip = parent;
  }

  /** Makes the line of a node the main line, up to the first move that differs. */
  promote(node: TreeNode): void {
    for (let child = node; child.parent !== null; child = child.parent) {
      const parent: TreeNode = child.parent;
      if (parent.children[0] !== child) {
        parent.children = [child, ...parent.children.filter(other => other !== child)];
        return;
      }
    }
  }

  find(id: number): TreeNode | null {
    const open = [this.root];
    for (let node = open.pop(); node !== undefined; node = open.pop()) {
      if (node.id === id) return node;
      open.push(...node.children);
    }
    return null;
  }

  store(): StoredTree {
    return {
      setup: this.setup,
      root: storeNode(this.root),
      current: indexPath(this.current),
      tip: indexPath(this.tip),
    };
  }

  static restore(stored: StoredTree): GameTree {
    const tree = new GameTree(stored.setup);
    tree.restoreChildren(tree.root, stored.root);
    tree.current = tree.follow(stored.current);
    tree.tip = tree.follow(stored.tip);
    return tree;
  }

  private restoreChildren(node: TreeNode, stored: StoredNode): void {
    node.value = stored.v ?? null;
    node.clocks = stored.t ?? null;
    node.comment = stored.c ?? '';
    // Main lines are long: one step of the loop a move, and a recursion only for variations.
    let target = node;
    let source = stored;
    for (;;) {
      const children = source.k ?? [];
      const nodes = children.map(child => this.createNode(target, child.m, child.s, child.p));
      target.children = nodes;
      nodes.slice(1).forEach((variation, i) => this.restoreChildren(variation, children[i + 1]));
      if (nodes.length === 0) return;
      target = nodes[0];
      source = children[0];
      target.value = source.v ?? null;
      target.clocks = source.t ?? null;
      target.comment = source.c ?? '';
    }
  }

  private follow(path: number[]): TreeNode {
    let node = this.root;
    for (const index of path) {
      const child = node.children[index];
      if (child === undefined) return node;
      node = child;
    }
    return node;
  }

  private createNode(parent: TreeNode | null, move: string, san: string, seat: number): TreeNode {
    return { id: this.nextId++, parent, move, san, seat, children: [], value: null, clocks: null, comment: '' };
  }
}

/** Returns the nodes from the first move to this node. */
export function pathTo(node: TreeNode): TreeNode[] {
  const path: TreeNode[] = [];
  for (let step = node; step.parent !== null; step = step.parent) path.push(step);
  return path.reverse();
}

export function movesTo(node: TreeNode): string[] {
  return pathTo(node).map(step => step.move);
}

/** Returns the line through a node: the moves to it and the main line after it. */
export function lineThrough(node: TreeNode): TreeNode[] {
  const line = pathTo(node);
  for (let next = node.children[0]; next !== undefined; next = next.children[0]) line.push(next);
  return line;
}

export function isAncestor(ancestor: TreeNode, node: TreeNode): boolean {
  for (let step: TreeNode | null = node; step !== null; step = step.parent) {
    if (step === ancestor) return true;
  }
  return false;
}

export function depthOf(node: TreeNode): number {
  let depth = 0;
  for (let step = node; step.parent !== null; step = step.parent) depth += 1;
  return depth;
}

function indexPath(node: TreeNode): number[] {
  return pathTo(node).map(step => (step.parent as TreeNode).children.indexOf(step));
}

function storeNode(node: TreeNode): StoredNode {
  const first = storeFields(node);
  let source = node;
  let target = first;
  while (source.children.length > 0) {
    const main = storeFields(source.children[0]);
    target.k = [main, ...source.children.slice(1).map(storeNode)];
    source = source.children[0];
    target = main;
  }
  return first;
}

function storeFields(node: TreeNode): StoredNode {
  const stored: StoredNode = { m: node.move, s: node.san, p: node.seat };
  if (node.value !== null) stored.v = Math.round(node.value * 1000) / 1000;
  if (node.clocks !== null) stored.t = node.clocks.map(Math.round);
  if (node.comment !== '') stored.c = node.comment;
  return stored;
}
