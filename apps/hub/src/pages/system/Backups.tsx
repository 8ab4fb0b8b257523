import { useState } from 'preact/hooks';
import { api } from '../../api/client.ts';
import { useAnswer } from '../../api/queries.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { CopyText, quoted } from '../../ui/Copy.tsx';
import { done, type Outcome, refused } from '../../ui/outcomes.ts';
import { Section } from '../../ui/Page.tsx';
import { Answered } from '../../ui/State.tsx';
import { Status } from '../../ui/Status.tsx';
import { size } from '../../ui/time.rules.ts';
import { Time } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';
import { type BackupFile, BackupFiles } from './BackupFiles.tsx';
import { BackupPlace } from './BackupPlace.tsx';

type Found = Awaited<ReturnType<typeof api.system.backups>>;
const everyMs = 5_000;

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
        <Choose found={found} />
      </div>
    );
  return <Kept found={found} />;
}

/** Chooses the place, where no setting says it. */
function Choose({ found }: { found: Found }) {
  const text = useWords().system.backups;
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button onPress={() => setOpen(true)}>{found.place === undefined ? text.choose : text.chooseOther}</Button>
      {isOpen && <BackupPlace now={found} onClose={() => setOpen(false)} />}
    </>
  );
}

/** Names what is kept, to who has proved anew who they are. */
function Download() {
  const text = useWords().system.backups;
  const acts = useActs();
  const [files, setFiles] = useState<BackupFile[]>();
  const open = async (): Promise<void> => {
    const found = await acts.run(async () => api.system.listBackups());
    if (found) setFiles(found.data);
  };
  return (
    <>
      <Button onPress={open}>{text.download}</Button>
      {files && <BackupFiles files={files} onClose={() => setFiles(undefined)} />}
    </>
  );
}

/** Settings that reach a bucket which was chosen here: another machine knows nothing of it. */
const reach = ({ endpoint, region, access_key_id: keyId }: NonNullable<Found['s3']>): string =>
  Object.entries({ ENDPOINT: endpoint, REGION: region, ACCESS_KEY_ID: keyId, SECRET_ACCESS_KEY: '…' })
    .flatMap(([name, value]) => (value === undefined ? [] : [`export SVC_BACKUP_S3_${name}=${quoted(value)}`]))
    .join('\n');

/** How to go back to a backup, in the order in which it is done. */
function Restore({ file, found: { sealed, s3 } }: { file: string; found: Found }) {
  const text = useWords().system.backups;
  return (
    <details>
      <summary>{text.restore}</summary>
      <div class="stack">
        <p class="hint">{text.restoreText}</p>
        {s3 && (
          <>
            <p class="hint">{text.restoreKeys}</p>
            <CopyText text={reach(s3)} />
          </>
        )}
        {sealed && <CopyText text="export SVC_BACKUP_PASSPHRASE=…" />}
        <CopyText text={`./svc restore ${file}`} />
        <CopyText text="./svc up" />
        <p class="hint">{text.confirmText}</p>
        <CopyText text="./svc restore confirm" />
      </div>
    </details>
  );
}

function Kept({ found }: { found: Found }) {
  const words = useWords();
  const text = words.system.backups;
  const acts = useActs();
  const { place = '', set_by: setBy, newest, next_at: next, failed, sealed, begun_at: begun, keep } = found;
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
          {setBy === 'settings' && <p class="hint">{text.bySettings}</p>}
        </dd>
        <dt>{text.secrets}</dt>
        <dd>{sealed ? text.sealed : text.unsealed}</dd>
      </dl>
      <div class="card-acts">
        <Button onPress={() => acts.run(async () => api.system.backUp(), { done: said, stale: ['system'] })}>
          {text.now}
        </Button>
        {newest && <Download />}
        {setBy === 'hub' && <Choose found={found} />}
        {setBy === 'hub' && (
          <Button
            look="quiet"
            onPress={() =>
              acts.run(async () => api.system.removeBackupPlace(), { done: text.ended, stale: ['system'] })
            }
          >
            {text.end}
          </Button>
        )}
      </div>
      {newest && <Restore file={`${place.replace(/\/$/, '')}/${newest.name}`} found={found} />}
    </div>
  );
}
