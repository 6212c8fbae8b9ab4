// The list of moves with variations.

import { create } from './dom';
import type { TreeNode } from './game';
import type { Session } from './session';

interface Numbering {
  /** The number of the first move. */
  first: number;
  blackStarts: boolean;
}

export class MoveList {
  constructor(
    private readonly host: HTMLElement,
    private readonly session: Session,
    private readonly onSelect: (node: TreeNode) => void,
  ) {
    host.addEventListener('click', event => {
      const button = (event.target as HTMLElement).closest<HTMLElement>('[data-node]');
      const node = button === null ? null : session.tree.find(Number(button.dataset.node));
      if (node !== null) this.onSelect(node);
    });
  }

  render(): void {
    const { variant, tree } = this.session;
    const focused = this.host.contains(document.activeElement);
    const columns = variant.sides === 2 && variant.boards === 1;
    this.host.classList.toggle('columns', columns);
    const numbering = this.numbering();
    this.host.replaceChildren(...(columns ? this.rows(tree.root, numbering) : this.inline(tree.root, 0, numbering)));
    if (tree.root.children.length === 0) this.host.append(create('p', { class: 'hint' }, 'No moves yet'));
    this.scrollToCurrent();
    if (focused) this.host.querySelector<HTMLElement>('[aria-current]')?.focus({ preventScroll: true });
  }

  private scrollToCurrent(): void {
    const current = this.host.querySelector<HTMLElement>('[aria-current]');
    // scrollIntoView would scroll the page too.
    if (current === null) this.host.scrollTop = 0;
    else this.host.scrollTop = current.offsetTop - this.host.clientHeight / 2;
  }

  private numbering(): Numbering {
    const fen = (this.session.tree.setup.fen ?? this.session.variant.fen).split(' ');
    const first = Number(fen.at(-1));
    return { first: Number.isInteger(first) && first > 0 ? first : 1, blackStarts: fen[1] === 'b' };
  }

  /** Rows of number, move of White and move of Black; variations have rows of their own. */
  private rows(root: TreeNode, numbering: Numbering): Node[] {
    const nodes: Node[] = [];
    const offset = numbering.blackStarts ? 1 : 0;
    let depth = 0;
    let interrupted = true;
    for (let parent = root; parent.children.length > 0; parent = parent.children[0]) {
      const [main, ...variations] = parent.children;
      const index = depth + offset;
      const black = index % 2 === 1;
      if (!black || interrupted) {
        nodes.push(create('span', { class: 'number' }, String(numbering.first + Math.floor(index / 2))));
        if (black) nodes.push(create('span', { class: 'gap' }, '…'));
      }
      nodes.push(this.move(main));
      interrupted = variations.length > 0;
      if (interrupted) {
        if (!black) nodes.push(create('span', { class: 'gap' }, '…'));
        const row = create('div', { class: 'variations' });
        for (const variation of variations) row.append(this.variation(variation, depth, numbering));
        nodes.push(row);
      }
      depth += 1;
    }
    return nodes;
  }

  private variation(node: TreeNode, depth: number, numbering: Numbering): HTMLElement {
    return create('span', { class: 'variation' }, '(', ...this.lineFrom(node, depth, numbering, true), ')');
  }

  private inline(parent: TreeNode, depth: number, numbering: Numbering): Node[] {
    const [main] = parent.children;
    return main === undefined ? [] : this.lineFrom(main, depth, numbering, true);
  }

  /** The moves of a line. Its first move's siblings are not part of it unless it is the main line. */
  private lineFrom(node: TreeNode, depth: number, numbering: Numbering, atStart: boolean): Node[] {
    const nodes: Node[] = [];
    let first = atStart;
    let level = depth;
    for (let step: TreeNode | undefined = node; step !== undefined; step = step.children[0]) {
      const number = this.numberText(step, level, numbering, first);
      if (number !== '') nodes.push(create('span', { class: 'number' }, number));
      nodes.push(this.move(step));
      first = false;
      const parent = step.parent as TreeNode;
      const isMain = parent.children[0] === step;
      if (isMain && (step !== node || parent.parent === null)) {
        for (const variation of parent.children.slice(1)) {
          nodes.push(this.variation(variation, level, numbering));
          first = true;
        }
      }
      level += 1;
    }
    return nodes;
  }

  private numberText(node: TreeNode, depth: number, numbering: Numbering, atStart: boolean): string {
    const { variant, seats } = this.session;
    if (variant.boards === 2) {
      const seat = seats[node.seat];
      let count = 1;
      for (let step = node.parent; step !== null && step.parent !== null; step = step.parent) {
        if (step.seat === node.seat) count += 1;
      }
      const letter = seat.board === 0 ? 'A' : 'B';
      return `${count}${seat.color === 'white' ? letter : letter.toLowerCase()}.`;
    }
    if (variant.sides !== 2) return `${depth + 1}.`;
    const index = depth + (numbering.blackStarts ? 1 : 0);
    const number = numbering.first + Math.floor(index / 2);
    if (index % 2 === 0) return `${number}.`;
    return atStart ? `${number}…` : '';
  }

  private move(node: TreeNode): HTMLElement {
    const current = node === this.session.tree.current;
    return create(
      'button',
      {
        type: 'button',
        class: 'move',
        'data-node': node.id,
        'aria-current': current ? 'step' : null,
        tabindex: current ? 0 : -1,
      },
      node.san,
    );
  }
}
