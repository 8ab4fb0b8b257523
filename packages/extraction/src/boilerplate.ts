import type { Element } from './dom.ts';

const tags = new Set(['nav', 'footer', 'menu', 'search']);
const roles = new Set(
  'navigation banner contentinfo search menu menubar toolbar dialog alertdialog tablist alert complementary'.split(' '),
);
/** Words of class and id of what surrounds content. A word alone: `article-share-bar` has it, `sharepoint` does not. */
const words = new Set(
  (
    'nav navbar navigation menu sidebar breadcrumb breadcrumbs crumbs footer share sharing social related recommended ' +
    'recommendations recommendation promo promoted promotion ad ads advert advertisement advertising adsense banner ' +
    'sponsor sponsored newsletter subscribe subscription signup cookie cookies consent gdpr pagination pager paginator ' +
    'toc skip popup modal overlay paywall widget widgets outbrain taboola trending popular upsell login signin ' +
    'sharedaddy masthead topbar toolbar disqus feedback rating ratings jumbolinks editsection navbox hatnote noprint printonly ' +
    'publicitate reclama reclame meniu similare recomandate distribuie abonare subsol copyright colophon'
  ).split(' '),
);
const pairs =
  /(?:read-?(?:more|next|also)|see-?also-?links|more-?(?:stories|articles|news|from)|most-?(?:read|popular)|also-?(?:like|read)|citeste-?(?:si|mai)|sign-?(?:up|in)|skip-?(?:link|to)|back-?to-?top|post-?(?:nav|tags|meta-footer)|tag-?(?:list|cloud)|author-?(?:bio|box|card)|site-?(?:header|footer|nav)|page-?(?:header-?nav|actions|tools)|edit-?(?:link|page|this)|print-?(?:link|button)|copy-?(?:button|btn)|was-?this-?helpful|next-?prev|prev-?next|call-?to-?action|side-?bar|cross-?sell|also-?bought|sr-only|visually-?hidden|screen-?reader)/;
/** Ids of what stands above every page of a site. */
const pageHeaders = /^(?:page|site|main)?[-_]?(?:header|antet)$/i;
/** An `<aside>` that is part of the text. */
const notes =
  /\b(?:note|notes|tip|hint|info|warning|caution|danger|important|admonition|callout|alert|footnotes?|pull-?quote|example|sidenote|aside-content)\b/i;
const comments = new Set(['comments', 'commentlist', 'respond', 'comentarii', 'disqus', 'replies']);
/** Words of class and id of what is said about a text: who wrote it when, and what others think of it. */
const asides = new Set(
  (
    'meta byline dateline timestamp date posted author profile postprofile signature user userinfo usercard votes vote ' +
    'votecell voting likes reactions views actions buttons tags topics taglist taxonomy autor semnatura butoane etichete'
  ).split(' '),
);
const asideTags = new Set(['div', 'p', 'ul', 'ol', 'dl', 'header', 'address', 'section']);
/** Longer ones may be texts. */
const longestAside = 200;
const lines = new Set(
  (
    'advertisement|ad|sponsored|publicitate|reclamă|share|share this|share this article|print|save|tweet|email|' +
    'copy|copied|copy link|copy code|edit|edit this page|reply|report|flag|like|follow|follow us|subscribe|read more|' +
    'citește mai mult|distribuie|tipărește|răspunde|loading|loading...|back to top|skip to content|skip to main content|' +
    'scroll to top|on this page|table of contents|menu|close|log in|sign in|sign up|¶|#|previous|next|high|quote|permalink|top|go to top|post reply|reply with quote'
  ).split('|'),
);

/** Class and id as words: `articleShare-bar` is article, share, bar. */
const wordsOf = (name: string): string[] =>
  name
    .slice(0, 500)
    .replace(/([a-z])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .split(/[^a-z]+/);

/** The first few hundred units of an element's text. */
function plainText(element: Element): string {
  let text = '';
  for (const child of element.children) {
    if (text.length > 400) break;
    text += typeof child === 'string' ? child.slice(0, 400) : plainText(child);
  }
  return text;
}

/** Decides what of a part of a page is no content. */
export class Boilerplate {
  private readonly root: Element;
  /** Most of the root's text is links, as on a page that lists others: links are the content. */
  private readonly isLinks: boolean;
  private readonly known = new Map<number, boolean>();

  constructor(root: Element) {
    this.root = root;
    this.isLinks = root.linkLength > root.textLength * 0.5;
  }

  /** Whether an element is navigation, advertisement, or what else surrounds content. */
  has(element: Element): boolean {
    const known = this.known.get(element.id);
    if (known !== undefined) return known;
    const answer = this.judge(element);
    this.known.set(element.id, answer);
    return answer;
  }

  private judge(element: Element): boolean {
    const { tag, attributes, textLength, linkLength } = element;
    if (textLength === 0) return false;
    if (textLength <= 40 && this.isLine(element)) return true;
    const share = textLength / Math.max(1, this.root.textLength);
    // One that is never closed holds the page.
    if (tags.has(tag)) return share < 0.5 || linkLength > textLength * 0.7;
    // Nothing below names a heading or the words of a sentence.
    if (isHeading(tag)) return hasClass(attributes, (word) => word === 'sr' || word === 'advert');
    // Whatever it is called, it is what the page is made of.
    if (share > 0.4) return false;
    if (tag === 'header') return isPageHeader(element);
    if (tag === 'aside') return !notes.test(`${attributes['class'] ?? ''} ${attributes['role'] ?? ''}`);
    if (tag === 'form') return true;
    const { role } = attributes;
    if (
      role !== undefined &&
      roles.has(role.toLowerCase()) &&
      !(role === 'alert' && notes.test(attributes['class'] ?? ''))
    )
      return true;
    if (tag !== 'code' && tag !== 'pre' && this.isNamed(element)) return true;
    return this.isLinkBlock(element);
  }

  /** A control, or a mark that leads to its own heading or back from a note. */
  private isLine(element: Element): boolean {
    const text = plainText(element).trim();
    if (isAlone(element) && lines.has(text.toLowerCase().replace(/[:.…]+$/, ''))) return true;
    return element.tag === 'a' && /^[¶#§↩↑⇑^🔗]\ufe0e?\d{0,2}$/u.test(text);
  }

  private isNamed(element: Element): boolean {
    const { attributes, tag, textLength } = element;
    if (attributes['class'] === undefined && attributes['id'] === undefined) return false;
    if (tag === 'span' || tag === 'a' || tag === 'em' || tag === 'strong') {
      return hasClass(attributes, (word) => word === 'editsection' || word === 'anchor' || word === 'headerlink');
    }
    if (pageHeaders.test(attributes['id'] ?? '') && isPageHeader(element)) return true;
    const name = `${attributes['class'] ?? ''} ${attributes['id'] ?? ''}`;
    if (pairs.test(name.slice(0, 500).toLowerCase().replaceAll('_', '-'))) return true;
    const isShort = textLength <= longestAside && asideTags.has(tag);
    return hasClass(attributes, (word) => words.has(word) || comments.has(word) || (isShort && asides.has(word)));
  }

  /** A block of links without sentences: menus, tags, "related". */
  private isLinkBlock({ tag, textLength, linkLength, children }: Element): boolean {
    if (this.isLinks || !(tag === 'div' || tag === 'ul' || tag === 'ol' || tag === 'section' || tag === 'p'))
      return false;
    if (linkLength <= textLength * 0.75 || textLength < 10) return false;
    const links = countLinks(children);
    if (tag === 'p') return links >= 3 && linkLength > textLength * 0.8;
    if (tag === 'div' && links === 2 && linkLength > textLength * 0.95) return true;
    return links >= 3 && textLength / links < 90;
  }
}

/** A line or control of its own: "Click Save" has the word in a sentence. */
function isAlone({ tag, parent, textLength }: Element): boolean {
  if (tag === 'div' || tag === 'p' || tag === 'section') return true;
  if (tag !== 'a' && tag !== 'span') return false;
  return parent?.tag === 'div' || (parent?.textLength === textLength && /^(?:span|p|section)$/.test(parent.tag));
}

const isHeading = (tag: string): boolean => /^h[1-6]$/.test(tag);

const hasClass = (attributes: Readonly<Record<string, string>>, test: (word: string) => boolean): boolean => {
  const name = `${attributes['class'] ?? ''} ${attributes['id'] ?? ''}`;
  return name.length > 1 && wordsOf(name).some(test);
};

function countLinks(children: readonly (Element | string)[]): number {
  let count = 0;
  for (const child of children) {
    if (typeof child === 'string') continue;
    count += child.tag === 'a' ? 1 : countLinks(child.children);
  }
  return count;
}

/** A header of an article holds its title; that of a page the site's name. */
function isPageHeader(element: Element): boolean {
  for (let at = element.parent; at !== undefined; at = at.parent) {
    if (at.tag === 'article' || at.tag === 'main' || at.attributes['role'] === 'main') return false;
  }
  return true;
}
