import { address, html } from './html.ts';
import { linkButton, type PageContext, render, textsOf } from './page.ts';

/** Seconds after which the page asks again. */
const refreshSeconds = 3;

/** Shows the number that the person picks on their signed-in device, and asks again by itself, without a script. */
export function phonePage(page: PageContext, { number, href }: { number: number; href: string }): string {
  const { phone } = textsOf(page);
  return render(page, {
    title: phone.title,
    lead: phone.text,
    head: html`<meta http-equiv="refresh" content="${refreshSeconds};url=${address(href)}">`,
    body: html`<p class="user-code"><code>${number}</code></p>
<p class="hint">${phone.wait}</p>
${linkButton(phone.check, href, 'plain')}`,
  });
}
