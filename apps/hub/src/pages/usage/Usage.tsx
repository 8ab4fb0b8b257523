import { useSearchParams } from 'wouter-preact';
import { CurlButton } from '../../ui/Copy.tsx';
import { Filter } from '../../ui/Filter.tsx';
import { Page } from '../../ui/Page.tsx';
import { useWords } from '../../words/words.tsx';
import { Audit } from './Audit.tsx';
import { Limits } from './Limits.tsx';
import { Requests } from './Requests.tsx';
import { Wallet } from './Wallet.tsx';

/** Parts of the page, with the call that each makes. */
const views = {
  requests: { path: '/v1/usage/requests', View: Requests },
  limits: { path: '/v1/usage', View: Limits },
  wallet: { path: '/v1/wallet', View: Wallet },
  audit: { path: '/v1/audit', View: Audit },
} as const;
type ViewName = keyof typeof views;

/** What the account asks for, may have, pays and did. */
export function Usage() {
  const words = useWords();
  const text = words.usage;
  const [params, setParams] = useSearchParams();
  const wanted = params.get('show') ?? '';
  const name: ViewName = wanted in views ? (wanted as ViewName) : 'requests';
  const { path, View } = views[name];
  return (
    <Page title={text.title} lead={text.lead} back={{ to: '/me', label: words.me.title }}>
      <Filter
        label={text.title}
        value={name}
        onChange={(show) => setParams(show === 'requests' ? {} : { show }, { replace: true })}
        options={Object.entries(text.views)}
      />
      <View />
      <div class="foot">
        <CurlButton path={path} />
      </div>
    </Page>
  );
}
