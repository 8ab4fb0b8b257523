import { api } from '../../api/client.ts';
import { useMe } from '../../api/me.ts';
import { useAnswer } from '../../api/queries.ts';
import { CurlButton } from '../../ui/Copy.tsx';
import { Page } from '../../ui/Page.tsx';
import { useWords } from '../../words/words.tsx';
import { Pushes } from './Pushes.tsx';
import { PushOffer } from './PushOffer.tsx';
import { Rules } from './Rules.tsx';
import { Webhooks } from './Webhooks.tsx';

/** Says that alerts go no further than the inbox, where nothing else is set up. */
function NoWay() {
  const text = useWords().ways;
  const isOperator = useMe().data?.operator === true;
  const system = useAnswer(['system'], async () => api.system.get(), { enabled: isOperator });
  const answer = useAnswer(['notifications', 'ways'], async () => {
    const query = { limit: 1 };
    const [{ subscriptions }, { webhooks }] = await Promise.all([
      api.notifications.listSubscriptions({ query }),
      api.notifications.listWebhooks({}),
    ]);
    return subscriptions.length + webhooks.filter(({ enabled }) => enabled).length;
  });
  const mail = system.data?.mail.configured;
  if (answer.data !== 0 || mail === true) return null;
  return <p class="box note">{mail === false ? text.noWayAtAll : text.noWay}</p>;
}

/** Which alerts go which way: rules, webhooks and devices. */
export function Ways() {
  const words = useWords();
  return (
    <Page
      title={words.alerts.settings}
      lead={words.ways.lead}
      back={{ to: '/notifications', label: words.alerts.title }}
    >
      <NoWay />
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
