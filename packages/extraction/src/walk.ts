import type { Block, Run } from './blocks.ts';
import { blockTags, type Element } from './dom.ts';
import { collapse, safeUrl } from './text.ts';
import { partingOf } from './partings.ts';
import { isGutter, languageOf, verbatim } from './walk.code.ts';
import type { SpanRoom } from './walk.spans.ts';
import { isDataTable, readTable } from './walk.tables.ts';
import { type Marks, RunBuffer } from './walk.runs.ts';

/** How a walk goes about. */
interface Course {
  /** Base URL of links. */
  readonly base: string;
  /** Whether an element is no content; it is left out with all in it. */
  readonly drops: (element: Element) => boolean;
  /** What cells of its tables that cover others may add. */
  readonly room: SpanRoom;
}

/** Lists and quotes nest this deep; what is deeper is read as text of the last. */
const mostNesting = 12;
const formParts = new Set(['input', 'select', 'button', 'optgroup', 'option', 'label', 'legend', 'dialog']);
const listTags = new Set(['ul', 'ol', 'menu', 'dir']);
const strong = new Set(['b', 'strong', 'th']);
const emphasis = new Set(['i', 'em', 'cite', 'dfn', 'var']);
const code = new Set(['code', 'kbd', 'samp', 'tt']);

/** Content of an element as blocks, what the course drops left out. */
export function blocksOf(root: Element, course: Course, nesting = 0): Block[] {
  const walk = new Walk(course, nesting);
  walk.element(root, {});
  return walk.finish();
}

class Walk {
  private readonly blocks: (Block | 'dropped')[] = [];
  private readonly runs = new RunBuffer();
  private readonly course: Course;
  private readonly nesting: number;

  constructor(course: Course, nesting: number) {
    this.course = course;
    this.nesting = nesting;
  }

  finish(): Block[] {
    this.flush();
    return withoutOrphans(this.blocks);
  }

  /** Children of an element, whatever it is itself. */
  element(element: Element, marks: Marks): void {
    for (const child of element.children) {
      if (typeof child === 'string') this.runs.add(collapse(child), marks);
      else this.child(child, marks);
    }
  }

  private child(child: Element, marks: Marks): void {
    const { tag } = child;
    if (tag === 'br') return this.runs.lineBreak();
    if (tag === 'img') return this.runs.image(collapse(child.attributes['alt'] ?? '').trim());
    if (formParts.has(tag) || isGutter(child)) return;
    if (this.course.drops(child)) {
      if (child.textLength > 0 && blockTags.has(tag)) {
        this.flush();
        this.blocks.push('dropped');
      }
      return;
    }
    const level = /^h([1-6])$/.exec(tag)?.[1];
    if (level !== undefined && this.nesting < mostNesting) return this.heading(child, Number(level));
    if (tag === 'pre') return this.code(child);
    if (tag === 'table' && this.nesting < mostNesting && isDataTable(child)) return this.table(child);
    if (listTags.has(tag) && this.nesting < mostNesting) return this.list(child);
    if (tag === 'blockquote' && this.nesting < mostNesting) return this.quote(child);
    if (tag === 'hr') return this.push({ type: 'rule' });
    if (blockTags.has(tag) || tag === 'td' || tag === 'th') {
      this.flush();
      this.element(child, tag === 'dt' ? { ...marks, strong: true } : marks);
      return this.flush();
    }
    const sign = partingOf(tag);
    if (sign !== undefined) this.runs.part(sign);
    this.element(child, this.marked(child, marks));
    if (sign !== undefined) this.runs.part(' ');
  }

  private marked(element: Element, marks: Marks): Marks {
    const { tag } = element;
    if (strong.has(tag)) return { ...marks, strong: true };
    if (emphasis.has(tag)) return { ...marks, emphasis: true };
    if (code.has(tag)) return { ...marks, code: true };
    if (tag !== 'a') return marks;
    const href = safeUrl(element.attributes['href'] ?? '', this.course.base);
    return href === '' ? marks : { ...marks, href };
  }

  /** Ends the paragraph that is being collected. */
  private flush(): void {
    const { runs, images } = this.runs.take();
    if (runs.length > 0) this.blocks.push({ type: 'paragraph', runs });
    for (const alt of images) this.blocks.push({ type: 'image', alt });
  }

  private push(block: Block): void {
    this.flush();
    this.blocks.push(block);
  }

  private heading(element: Element, level: number): void {
    this.flush();
    const runs = inlineOf(element, this.course, this.nesting + 1);
    if (runs.length > 0) this.blocks.push({ type: 'heading', level, runs: runs.map(withoutAnchor) });
  }

  private code(element: Element): void {
    // A poem or a plan in <pre> is no program, but is as verbatim.
    const text = verbatim(element);
    if (text.trim() !== '') this.push({ type: 'code', language: languageOf(element), text });
  }

  private table(element: Element): void {
    this.flush();
    const inline = (part: Element): Run[] => inlineOf(part, this.course, this.nesting + 1);
    const { above, header, rows } = readTable(element, this.course.room, inline);
    for (const runs of above) if (runs.length > 0) this.blocks.push({ type: 'paragraph', runs });
    if (rows.length > 0) this.blocks.push({ type: 'table', header, rows });
  }

  private list(element: Element): void {
    this.flush();
    const items: Block[][] = [];
    for (const children of itemsOf(element)) {
      const item = new Walk(this.course, this.nesting + 1);
      for (const child of children) {
        if (typeof child === 'string') item.runs.add(collapse(child), {});
        else if (this.course.drops(child)) continue;
        else if (child.tag === 'li') item.element(child, {});
        else item.child(child, {});
      }
      const blocks = item.finish();
      // A list right in a list belongs to the item before it.
      const isNested = blocks.length > 0 && blocks.every(({ type }) => type === 'list') && !isItem(children[0]);
      const last = items.at(-1);
      if (isNested && last !== undefined) items[items.length - 1] = [...last, ...blocks];
      else if (blocks.length > 0) items.push(blocks);
    }
    if (items.length === 0) return;
    const start = /^\d{1,6}$/.exec(element.attributes['start'] ?? '') ? Number(element.attributes['start']) : 1;
    this.blocks.push({ type: 'list', ordered: element.tag === 'ol', start, items });
  }

  private quote(element: Element): void {
    const blocks = blocksOf(element, this.course, this.nesting + 1);
    if (blocks.length > 0) this.push({ type: 'quote', blocks });
  }
}

const isItem = (child: Element | string | undefined): boolean => typeof child === 'object' && child.tag === 'li';

/** The items of a list; what stands between them without being one is an item too, as browsers show it. */
function itemsOf(list: Element): (readonly (Element | string)[])[] {
  const items: (Element | string)[][] = [];
  let isLoose = false;
  for (const child of list.children) {
    const isOwn = isItem(child);
    if (isOwn || !isLoose) items.push([child]);
    else items.at(-1)?.push(child);
    isLoose = !isOwn;
  }
  return items;
}

/** A heading links to itself in many a manual. */
const withoutAnchor = ({ href, ...run }: Run): Run =>
  href === undefined || href.includes('#') ? run : { ...run, href };

/** Text of an element in one line: blocks in it stand a space apart. */
function inlineOf(element: Element, course: Course, nesting: number): Run[] {
  const runs = joined(blocksOf(element, course, nesting).map(runsOf));
  return runs.map((run) => ({ ...run, text: run.text.replace(/\s+/g, ' ') }));
}

const joined = (parts: readonly (readonly Run[])[]): Run[] =>
  parts.flatMap((part, at) => (at === 0 ? part : [{ text: ' ' }, ...part]));

function runsOf(block: Block): readonly Run[] {
  switch (block.type) {
    case 'heading':
    case 'paragraph':
      return block.runs;
    case 'list':
      return joined(block.items.map((item) => joined(item.map(runsOf))));
    case 'table':
      return joined(block.rows.map(joined));
    case 'quote':
      return joined(block.blocks.map(runsOf));
    case 'code':
      return [{ text: block.text.trim(), code: true }];
    case 'plain':
      return [{ text: block.text }];
    case 'image':
    case 'rule':
      break;
  }
  return [];
}

/** A heading whose content was dropped goes too ("Related articles"). */
function withoutOrphans(blocks: readonly (Block | 'dropped')[]): Block[] {
  const isOrphan = (at: number): boolean => {
    const block = blocks[at];
    if (block === undefined || block === 'dropped' || block.type !== 'heading' || block.level === 1) return false;
    if (blocks[at + 1] !== 'dropped') return false;
    let next = at + 1;
    while (blocks[next] === 'dropped') next += 1;
    const follower = blocks[next];
    return (
      follower === undefined || (follower !== 'dropped' && follower.type === 'heading' && follower.level <= block.level)
    );
  };
  return blocks.filter((block, at): block is Block => block !== 'dropped' && !isOrphan(at));
}
