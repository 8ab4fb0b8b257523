import { api } from '../../api/client.ts';
import { useAnswer } from '../../api/queries.ts';
import { Dialog } from '../../ui/Dialog.tsx';
import { Answered } from '../../ui/State.tsx';
import { Status } from '../../ui/Status.tsx';
import { duration } from '../../ui/time.rules.ts';
import { Time } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';

type Delivery = Awaited<ReturnType<typeof api.notifications.webhookDeliveries>>['deliveries'][number];

/** The last attempts to deliver to a webhook, newest first. */
export function Deliveries({ id, onClose }: { id: string; onClose: () => void }) {
  const text = useWords().hooks;
  const answer = useAnswer(
    ['notifications', 'deliveries', id],
    async () => (await api.notifications.webhookDeliveries({ params: { id }, query: {} })).deliveries,
  );
  return (
    <Dialog title={text.deliveries} onClose={onClose} wide>
      <Answered answer={answer}>
        {(deliveries) =>
          deliveries.length === 0 ? (
            <p class="hint">{text.noDeliveries}</p>
          ) : (
            <ul class="rows" aria-label={text.deliveries}>
              {deliveries.map((one) => (
                <li key={`${one.message_id}-${one.attempt}`}>
                  <DeliveryRow delivery={one} />
                </li>
              ))}
            </ul>
          )
        }
      </Answered>
    </Dialog>
  );
}

function DeliveryRow({ delivery }: { delivery: Delivery }) {
  const text = useWords().hooks;
  const { ok, type, attempt, status, reason, at, duration_ms: took, next_attempt_at: next } = delivery;
  return (
    <div class="row log-row">
      <Status tone={ok ? 'good' : 'bad'}>{ok ? text.arrived : text.lost}</Status>
      <span class="row-main">
        <span class="row-title">
          <code>{type}</code>
        </span>
        <span class="row-detail">
          {[attempt > 1 && text.attempt(attempt), status !== undefined && text.status(status), reason, duration(took)]
            .filter(Boolean)
            .join(' · ')}
          {next !== undefined && (
            <>
              {' · '}
              {text.next} <Time at={next} />
            </>
          )}
        </span>
      </span>
      <Time at={at} />
    </div>
  );
}
