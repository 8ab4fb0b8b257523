import { api } from '../../api/client.ts';
import { useAnswer } from '../../api/queries.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { CopyText } from '../../ui/Copy.tsx';
import { done, type Outcome, refused } from '../../ui/outcomes.ts';
import { Section } from '../../ui/Page.tsx';
import { Answered } from '../../ui/State.tsx';
import { Status } from '../../ui/Status.tsx';
import { size } from '../../ui/time.rules.ts';
import { Time } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';

type Found = Awaited<ReturnType<typeof api.system.backups>>;
const everyMs = 5_000;
const setUpLine = 'SVC_BACKUP_DIR=/mnt/backup/svc';

/** What became of the backups, and one now; red from the first failure on. */
export function Backups() {
  const text = useWords().system.backups;
  const answer = useAnswer(['system', 'backups'], async () => api.system.backups(), { everyMs });
  return (
    <Section title={text.title}>
      <Answered answer={answer}>{(found) => <State found={found} />}</Answered>
    </Section>
  );
}

function State({ found }: { found: Found }) {
  const text = useWords().system.backups;
  if (found.own_server) return <p class="hint">{text.ownServer}</p>;
  if (found.place === undefined)
    return (
      <div class="stack">
        <p>
          <Status tone="warn">{text.none}</Status> {text.setUp}
        </p>
        <CopyText text={setUpLine} />
      </div>
    );
  return <Kept found={found} />;
}

function Kept({ found }: { found: Found }) {
  const words = useWords();
  const text = words.system.backups;
  const acts = useActs();
  const { place = '', newest, next_at: next, failed, sealed, begun_at: begun, keep } = found;
  const said = ({ begins }: { begins: boolean }): Outcome => (begins ? done(text.begun) : refused(text.none));
  return (
    <div class="stack">
      {failed && (
        <div class="box problem" role="alert">
          <div>
            <p>
              <Status tone="bad">{text.failed}</Status> <Time at={failed.since} />
            </p>
            <p>{failed.reason}</p>
            <p class="check-fix">{failed.fix}</p>
          </div>
        </div>
      )}
      <dl class="pairs narrow">
        <dt>{text.last}</dt>
        <dd>
          {newest === undefined ? (
            text.noneYet
          ) : (
            <>
              <Time at={newest.at} /> · {size(newest.bytes)}
            </>
          )}
        </dd>
        <dt>{text.next}</dt>
        <dd>{begun !== undefined ? text.underWay : next === undefined ? text.soon : <Time at={next} />}</dd>
        <dt>{text.place}</dt>
        <dd>
          <code>{place}</code> · {text.keep(keep)}
        </dd>
        <dt>{text.secrets}</dt>
        <dd>{sealed ? text.sealed : text.unsealed}</dd>
      </dl>
      <div>
        <Button onPress={() => acts.run(async () => api.system.backUp(), { done: said, stale: ['system'] })}>
          {text.now}
        </Button>
      </div>
      {newest && (
        <>
          <p class="hint">{text.restore}</p>
          <CopyText text={`./svc restore ${place.replace(/\/$/, '')}/${newest.name}`} />
        </>
      )}
    </div>
  );
}
