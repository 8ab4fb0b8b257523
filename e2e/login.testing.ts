import assert from 'node:assert/strict';

/** A page as a browser has it. */
interface Page {
  url: string;
  status: number;
  html: string;
}

/** A browser without a screen: cookies, redirects and forms, no script. */
export class Browser {
  readonly #cookies = new Map<string, string>();

  /** Opens an address and follows where it leads, by headers and by `<meta http-equiv="refresh">`. */
  async open(url: string, form?: Record<string, string | string[]>): Promise<Page> {
    let page = await this.#ask(url, form);
    for (let hops = 0; hops < 12; hops += 1) {
      const to = page.location ?? /http-equiv="refresh" content="0;url=([^"]+)"/.exec(page.html)?.[1];
      if (to === undefined) return page;
      page = await this.#ask(new URL(to.replaceAll('&amp;', '&'), page.url).href);
    }
    throw new Error(`it never ends: ${page.url}`);
  }

  /** Sends the form of a page: its hidden fields, and these. */
  submit(page: Page, fields: Record<string, string | string[]>): Promise<Page> {
    const action = /<form [^>]*\baction="([^"]+)"/.exec(page.html)?.[1];
    assert.ok(action, page.html);
    const hidden = page.html.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g);
    const own = Object.fromEntries([...hidden].map(([, name, value]) => [name, value] as [string, string]));
    return this.open(new URL(action.replaceAll('&amp;', '&'), page.url).href, { ...own, ...fields });
  }

  async #ask(url: string, form?: Record<string, string | string[]>): Promise<Page & { location: string | undefined }> {
    const headers: Record<string, string> = {
      accept: 'text/html',
      'accept-language': 'en',
      cookie: [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; '),
      ...(form && { 'sec-fetch-site': 'same-origin', origin: new URL(url).origin }),
    };
    const body = new URLSearchParams();
    for (const [name, given] of Object.entries(form ?? {})) for (const one of [given].flat()) body.append(name, one);
    const response = await fetch(url, {
      redirect: 'manual',
      headers,
      ...(form && { method: 'POST', body }),
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      const expires = /expires=([^;]+)/i.exec(cookie)?.[1];
      const isOver = value === '' || (expires !== undefined && Date.parse(expires) < Date.now());
      if (isOver) this.#cookies.delete(name);
      else this.#cookies.set(name, value);
    }
    const location = response.headers.get('location') ?? undefined;
    return { url, status: response.status, html: await response.text(), location };
  }
}

/** The scopes that a consent page offers. */
export const scopesOffered = ({ html }: { html: string }): string[] =>
  [...html.matchAll(/name="scope" value="([^"]+)"/g)].map(([, scope]) => scope as string);
