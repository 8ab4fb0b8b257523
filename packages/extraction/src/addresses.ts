/** Parameters that say where a visitor came from, and change nothing of the page. */
const tracking =
  /^(?:utm_\w+|gclid|gclsrc|gbraid|wbraid|dclid|fbclid|msclkid|yclid|ysclid|twclid|ttclid|li_fat_id|mc_cid|mc_eid|igshid|igsh|_hsenc|_hsmi|__hstc|__hssc|hsctatracking|mkt_tok|oly_anon_id|oly_enc_id|vero_id|wickedid|_openstat|rb_clickid|s_cid|srsltid|_ga|_gl|ref_src|ref_url|spm|si_source|cmpid|ncid|sc_campaign|sc_channel|trk|trkcampaign|at_medium|at_campaign|pk_\w+|mtm_\w+|matomo_\w+)$/i;

/**
 * An address as a key: without fragment and tracking parameters, the order of the others kept. A text that is no URL is
 * returned as it is.
 */
export function pageAddress(url: string): string {
  const parsed = URL.parse(url);
  if (parsed === null) return url;
  parsed.hash = '';
  const query = parsed.search.slice(1);
  if (query === '') {
    parsed.search = '';
    return parsed.href;
  }
  // By hand: URLSearchParams would write the others anew.
  const parts = query.split('&');
  const rest = parts.filter((part) => !tracking.test(nameOf(part)));
  if (rest.length < parts.length) parsed.search = rest.join('&');
  return parsed.href;
}

function nameOf(part: string): string {
  const name = part.split('=', 1)[0] ?? '';
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
