import { CurlButton } from '../../ui/Copy.tsx';
import { Page } from '../../ui/Page.tsx';
import { useWords } from '../../words/words.tsx';
import { Pushes } from './Pushes.tsx';
import { PushOffer } from './PushOffer.tsx';
import { Rules } from './Rules.tsx';
import { Webhooks } from './Webhooks.tsx';

/** Which alerts go which way: rules, webhooks and devices. */
export function Ways() {
  const words = useWords();
  return (
    <Page
      title={words.alerts.settings}
      lead={words.ways.lead}
      back={{ to: '/notifications', label: words.alerts.title }}
    >
      <Rules />
      <Webhooks />
      <Pushes />
      <PushOffer />
      <div class="foot">
        <CurlButton path="/v1/notifications/preferences" />
      </div>
    </Page>
  );
}
