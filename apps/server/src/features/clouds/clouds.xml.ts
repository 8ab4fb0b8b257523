/** An element of an XML document: its text, and the elements in it by name, in their order. */
export interface XmlElement {
  readonly text: string;
  readonly elements: ReadonlyMap<string, readonly XmlElement[]>;
}

const token = /<\?[^]*?\?>|<!--[^]*?-->|<!\[CDATA\[([^]*?)\]\]>|<(\/?)([\w.:-]+)[^<>]*?(\/?)>|([^<]+)/y;
const named: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };
/** Elements in elements; an answer of EC2 has eight. */
const deepest = 64;

/**
 * Reads an XML document as the services of AWS write them: elements and text. Attributes are left out, a document type is
 * refused. Throws for what is none.
 */
export function readXml(text: string): XmlElement {
  const root = open();
  const stack = [{ name: '', into: root }];
  const fail = (): never => {
    throw new Error('it is no XML');
  };
  token.lastIndex = 0;
  while (token.lastIndex < text.length) {
    const found = token.exec(text);
    const top = stack.at(-1);
    if (!found || !top) return fail();
    const [, verbatim, isEnd, name, isEmpty, plain] = found;
    if (name === undefined) {
      top.into.text += verbatim ?? (plain === undefined ? '' : unescape(plain));
      continue;
    }
    if (isEnd) {
      if (stack.pop()?.name !== name || stack.length === 0) fail();
      continue;
    }
    const child = open();
    top.into.elements.set(name, [...(top.into.elements.get(name) ?? []), child]);
    if (!isEmpty) stack.push({ name, into: child });
    if (stack.length > deepest) fail();
  }
  return stack.length === 1 && root.elements.size === 1 ? root : fail();
}

const open = () => ({ text: '', elements: new Map<string, XmlElement[]>() });

const unescape = (text: string): string =>
  text.replaceAll(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w+));/gi, (whole, decimal, hex, name) => {
    const code = decimal ? Number(decimal) : hex ? Number.parseInt(hex as string, 16) : undefined;
    if (code === undefined) return named[name as string] ?? whole;
    return code <= 0x10_ff_ff ? String.fromCodePoint(code) : '';
  });

/** The elements at the end of a path; those of each on the way are looked through. */
export const elementsAt = (from: XmlElement, ...path: readonly string[]): readonly XmlElement[] =>
  path.reduce<readonly XmlElement[]>((all, name) => all.flatMap(({ elements }) => elements.get(name) ?? []), [from]);

/** The text of the first element at the end of a path, trimmed; undefined when there is none, or no text. */
export const textAt = (from: XmlElement, ...path: readonly string[]): string | undefined =>
  elementsAt(from, ...path)[0]?.text.trim() || undefined;
