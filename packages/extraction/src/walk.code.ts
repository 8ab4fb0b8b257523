import { blockTags, type Element } from './dom.ts';

/** Line numbers beside code are no code. */
export const isGutter = (element: Element): boolean => {
  const name = element.attributes['class'];
  return (
    name !== undefined &&
    /(?:^|\s)(?:linenos?|line-?numbers?(?:-rows)?|gutter|lineno(?:div)?|hljs-ln-n)(?:\s|$)/i.test(name)
  );
};

/** A line of code that is made one by style alone, as Shiki, Prism and others draw it. */
export const isCodeLine = ({ tag, attributes: { class: name } }: Element): boolean =>
  tag === 'span' && name !== undefined && /(?:^|\s)(?:code-|token-|view-)?line(?:\s|$)/i.test(name);

/** Text as it stands, line breaks kept; units that highlighters make a line of get one. */
export function verbatim(element: Element): string {
  const parts: string[] = [];
  const visit = (at: Element): void => {
    /** Where the line before this one begins; most have a line break behind them, or in them. */
    let before: number | undefined;
    for (const child of at.children) {
      if (typeof child === 'string') parts.push(child);
      else if (child.tag === 'br') parts.push('\n');
      else if (!isGutter(child) && child.tag !== 'button') {
        // A block begins and ends a line, as a reader sees it; a cell stands apart from the one before.
        const isLine = blockTags.has(child.tag) || child.tag === 'tr';
        const isCell = child.tag === 'td' || child.tag === 'th';
        if (isCodeLine(child)) {
          if (before !== undefined && !isAt(parts.slice(before), /\n[ \t]*$/)) parts.push('\n');
          before = parts.length;
        }
        if (isLine && !isAt(parts, /\n$|^$/)) parts.push('\n');
        else if (isCell && !isAt(parts, /\s$|^$/)) parts.push('\t');
        visit(child);
        if (isLine && !isAt(parts, /\n$/)) parts.push('\n');
      }
    }
  };
  visit(element);
  const text = parts
    .join('')
    .replaceAll('\u00a0', ' ')
    // oxlint-disable-next-line no-control-regex
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\u200b\ufeff]/g, '');
  return text.replace(/^(?:[ \t]*\n)+/, '').trimEnd();
}

/** Whether what was written last ends as a pattern says. */
const isAt = (parts: readonly string[], end: RegExp): boolean => end.test(parts.at(-1) ?? '');

const languageClass = /(?:^|\s)(?:language-|lang-|highlight-source-|highlight-text-|brush:\s*)([\w+#.-]{1,20})/i;

/** The language that a highlighter's class names, on the code or around it; `''` when unknown. */
export function languageOf(pre: Element): string {
  const inner = pre.children.find((child): child is Element => typeof child !== 'string' && child.tag === 'code');
  for (const element of [inner, pre, pre.parent, pre.parent?.parent]) {
    if (element === undefined) continue;
    const named = element.attributes['data-lang'] ?? element.attributes['data-language'];
    if (named !== undefined && /^[\w+#.-]{1,20}$/.test(named)) return named.toLowerCase();
    const found = languageClass.exec(element.attributes['class'] ?? '')?.[1];
    if (found !== undefined) return found.toLowerCase();
  }
  return '';
}
