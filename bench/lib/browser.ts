/** A browser without a screen: keeps cookies, and says where its forms come from; `network`: as a trusted proxy tells it. */
export class Browser {
  readonly #cookies = new Map<string, { value: string; path: string }>();

  /** One request; `to` is where its answer sends the browser, by a redirect or by its page. */
  async open(
    url: string,
    form?: Record<string, string>,
    network?: string,
  ): Promise<{ status: number; body: string; to: string | undefined }> {
    const { pathname } = new URL(url);
    const cookies = [...this.#cookies].filter(([, { path }]) => pathname.startsWith(path));
    const response = await fetch(url, {
      redirect: 'manual',
      headers: {
        accept: 'text/html',
        'sec-fetch-site': 'same-origin',
        ...(network !== undefined && { 'x-forwarded-for': network }),
        cookie: cookies.map(([name, { value }]) => `${name}=${value}`).join('; '),
      },
      ...(form && { method: 'POST', body: new URLSearchParams(form) }),
    });
    for (const line of response.headers.getSetCookie()) {
      const [pair = '', ...rest] = line.split(';');
      const [name = '', value = ''] = pair.split(/=(.*)/s);
      const path = rest.map((one) => /^ *path=(.*)$/i.exec(one)?.[1]).find((one) => one !== undefined) ?? '/';
      this.#cookies.set(name, { value, path });
    }
    const body = await response.text();
    const refresh = /http-equiv="refresh" content="0;url=([^"]+)"/.exec(body)?.[1]?.replaceAll('&amp;', '&');
    const target = response.headers.get('location') ?? refresh;
    return { status: response.status, body, to: target === undefined ? undefined : new URL(target, url).href };
  }

  /** Follows what answers say until a page stays, or one at `stop` is next; answers its address. */
  async follow(url: string, stop?: RegExp): Promise<string> {
    for (let at = url, hops = 0; hops < 12; hops += 1) {
      if (stop?.test(at)) return at;
      const { to } = await this.open(at);
      if (to === undefined) return at;
      at = to;
    }
    throw new Error(`${url} leads in circles`);
  }

  /** Opens a link of the first start or of an invitation, and sets a password. */
  async settle(link: string, email: string, password: string): Promise<void> {
    const [url = '', token = ''] = link.split('#');
    const { status } = await this.open(url, { carry: token, email, name: '', password });
    if (status !== 200) throw new Error(`the link answered ${status}`);
  }

  /** The value of a cookie. */
  cookie(name: string): string {
    return this.#cookies.get(name)?.value ?? '';
  }
}
