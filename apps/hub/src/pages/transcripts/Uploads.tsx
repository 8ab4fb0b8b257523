import { useQueryClient } from '@tanstack/preact-query';
import { useEffect, useId, useState } from 'preact/hooks';
import { useLocation, useSearchParams } from 'wouter-preact';
import { api, failureOf } from '../../api/client.ts';
import { problemOf } from '../../api/errors.ts';
import { useMe } from '../../api/me.ts';
import { useAnswer } from '../../api/queries.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { SelectField, TextField } from '../../ui/Field.tsx';
import { Section } from '../../ui/Page.tsx';
import { Status, type Tone } from '../../ui/Status.tsx';
import { duration, size } from '../../ui/time.rules.ts';
import { dropUpload, fileOf, sharedId, type WaitingUpload, waitingUploads } from '../../uploads.store.ts';
import { useWords, type Words } from '../../words/words.tsx';
import { type Folder, folderOptions, stale } from './transcripts.ts';
import { type ShownUpload, uploader } from './uploader.ts';

const languages = ['auto', 'en', 'ro', 'de', 'fr', 'es', 'it'] as const;
const tones: Record<ShownUpload['state'], Tone> = {
  waiting: 'warn',
  sending: 'busy',
  paused: 'rest',
  offline: 'warn',
  finishing: 'busy',
  refused: 'bad',
  lost: 'warn',
};

/** Uploads of this browser, as they go on. */
export function Uploads() {
  const text = useWords().transcripts;
  const rows = useUploads();
  if (rows.length === 0) return null;
  return (
    <Section title={text.uploads}>
      <ul class="rows" aria-label={text.uploads}>
        {rows.map((row) => (
          <UploadRow row={row} key={row.id} />
        ))}
      </ul>
    </Section>
  );
}

/** Uploads of this tab; what an earlier visit began goes on. */
function useUploads(): readonly ShownUpload[] {
  const text = useWords().transcripts;
  const acts = useActs();
  const client = useQueryClient();
  const [rows, setRows] = useState(uploader.rows);
  const accountId = useMe().data?.account.id;
  useEffect(() => uploader.listen(() => setRows(uploader.rows)), []);
  useEffect(() => {
    if (accountId === undefined) return;
    void uploader.resume(accountId, () => {
      acts.say(text.uploaded);
      for (const topic of stale) void client.invalidateQueries({ queryKey: [topic] });
    });
  }, [accountId, acts, client, text]);
  return rows;
}

/** Why an upload was refused, in words. */
function refusalOf({ error, isWhole }: NonNullable<ShownUpload['refusal']>, words: Words): string {
  const code = failureOf(error)?.code;
  if (isWhole && code === 'bad_request') return words.transcripts.notSound;
  if (code === 'quota_exceeded') return words.transcripts.noRoom;
  return problemOf(error, words).text;
}

function UploadRow({ row }: { row: ShownUpload }) {
  const words = useWords();
  const text = words.transcripts;
  const { id, name, state, offset, bytes, refusal } = row;
  const isUnderWay = state === 'sending' || state === 'waiting' || state === 'offline';
  return (
    <li class="row padded">
      <Status tone={tones[state]}>{text.uploadStates[state]}</Status>
      <span class="row-main">
        <span class="row-title">{name}</span>
        <progress class="bar-of" max={Math.max(1, bytes)} value={offset} aria-label={name} />
        <span class="row-detail">{text.progress(size(offset), size(bytes))}</span>
        {refusal && <span class="problem">{refusalOf(refusal, words)}</span>}
        {state === 'lost' && <span class="hint">{text.lostText}</span>}
      </span>
      <div class="card-acts">
        {isUnderWay && (
          <Button icon="pause" onPress={() => uploader.pause(id)}>
            {text.pauseUpload}
          </Button>
        )}
        {(state === 'paused' || state === 'refused') && (
          <Button icon="play" onPress={() => uploader.continue(id)}>
            {state === 'paused' ? text.resumeUpload : words.retry}
          </Button>
        )}
        {state === 'lost' && <PickAgain row={row} />}
        {state !== 'finishing' && (
          <Button look="danger" onPress={() => uploader.drop(id)}>
            {text.dropUpload}
          </Button>
        )}
      </div>
    </li>
  );
}

/** The browser keeps no file after a reload where it has no room: the person picks it once more. */
function PickAgain({ row }: { row: WaitingUpload }) {
  const text = useWords().transcripts;
  const acts = useActs();
  const input = useId();
  const pick = async (file: File | undefined): Promise<void> => {
    if (file && !(await uploader.pick(row.id, file))) acts.say(text.notTheFile(row.name), { isProblem: true });
  };
  return (
    <label class="button plain" for={input}>
      {text.pickAgain}
      <input id={input} class="unseen" type="file" onChange={(event) => void pick(event.currentTarget.files?.[0])} />
    </label>
  );
}

/** Offers the file that came by the system's share menu. */
export function Shared({ onUpload }: { onUpload: (file: File) => void }) {
  const text = useWords().transcripts;
  const [params] = useSearchParams();
  const [, go] = useLocation();
  const state = params.get('shared');
  const [found, setFound] = useState<WaitingUpload | null>();
  useEffect(() => {
    if (state === null) return;
    void waitingUploads(Date.now())
      .catch(() => [])
      .then((rows) => setFound(rows.find(({ id }) => id === sharedId) ?? null));
  }, [state]);
  if (state === null || found === undefined) return null;
  const leave = (): void => {
    setFound(undefined);
    go('/transcripts', { replace: true });
  };
  if (found === null) return <p class="box note">{state === 'large' ? text.sharedTooLarge : text.nothingShared}</p>;
  const take = async (): Promise<void> => {
    const file = await fileOf(sharedId);
    if (file) onUpload(new File([file], found.name, { type: file.type, lastModified: found.lastModified }));
    leave();
  };
  return (
    <div class="box note">
      <div>
        <p>{text.shared(found.name)}</p>
        <p class="hint">{size(found.bytes)}</p>
      </div>
      <Button look="primary" icon="upload" onPress={take}>
        {text.uploadShared(found.name)}
      </Button>
      <Button
        onPress={async () => {
          await dropUpload(sharedId);
          leave();
        }}
      >
        {text.dropShared}
      </Button>
    </div>
  );
}

/** Asks for a file and what is known of it, and begins to upload it. */
export function NewUpload({
  shared,
  folders,
  folder,
  onClose,
}: {
  /** The file that came by the share menu. */
  shared: File | undefined;
  folders: readonly Folder[];
  folder: string;
  onClose: () => void;
}) {
  const words = useWords();
  const text = words.transcripts;
  const input = useId();
  const [file, setFile] = useState(shared);
  const [terms, setTerms] = useState({ title: '', language: 'auto', folderId: folder, consent: '' });
  const usage = useAnswer(['transcript-usage'], async () => api.transcripts.usage());
  const set = (change: Partial<typeof terms>): void => setTerms((before) => ({ ...before, ...change }));
  const begin = (): void => {
    if (!file) return;
    const { title, language, consent } = terms;
    void uploader.add(file, {
      ...terms,
      title: title.trim(),
      language: language === 'auto' ? '' : language,
      consent: consent.trim(),
    });
    if (shared) void dropUpload(sharedId).catch(() => {});
    onClose();
  };
  const used = usage.data;
  return (
    <Dialog title={text.uploadTitle} onClose={onClose} wide>
      <form class="stack" onSubmit={(event) => event.preventDefault()}>
        {used?.heard === false && <p class="box note">{text.notHeard}</p>}
        {shared ? (
          <p>
            {shared.name} ({size(shared.size)})
          </p>
        ) : (
          <div class="field">
            <label for={input}>{text.file}</label>
            <input
              id={input}
              type="file"
              accept="audio/*,video/*"
              aria-describedby={`${input}-hint`}
              onChange={(event) => setFile(event.currentTarget.files?.[0])}
            />
            <p class="hint" id={`${input}-hint`}>
              {text.fileHint} {used && text.usage(duration(used.used_ms + used.reserved_ms), duration(used.limit_ms))}
            </p>
          </div>
        )}
        <TextField
          label={text.titleField}
          value={terms.title}
          onInput={(title) => set({ title: title.slice(0, 300) })}
          hint={text.titleHint}
        />
        <div class="pair">
          <SelectField
            label={text.spoken}
            value={terms.language}
            onInput={(language) => set({ language })}
            options={languages.map((one) => [one, text.languages[one]] as const)}
          />
          <SelectField
            label={text.folder}
            value={terms.folderId}
            onInput={(folderId) => set({ folderId })}
            options={[['', text.noFolder], ...folderOptions(folders)]}
          />
        </div>
        <TextField
          label={text.consent}
          value={terms.consent}
          onInput={(consent) => set({ consent: consent.slice(0, 1_000) })}
          hint={text.consentHint}
        />
        <Button look="primary" type="submit" icon="upload" onPress={begin} disabled={!file}>
          {text.upload}
        </Button>
      </form>
    </Dialog>
  );
}
