import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { api } from '../../api/client.ts';
import { useAnswer } from '../../api/queries.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { useDraft } from '../../ui/draft.ts';
import { TextField } from '../../ui/Field.tsx';
import { Log, type LogSource } from '../../ui/Log.tsx';
import { Section } from '../../ui/Page.tsx';
import { Status, type Tone } from '../../ui/Status.tsx';
import { useWords, type Words } from '../../words/words.tsx';
import { type ExecOutcome, outcomeOf } from './execs.rules.ts';

const tones: Record<ExecOutcome, Tone> = {
  waiting: 'warn',
  sent: 'busy',
  running: 'busy',
  done: 'good',
  expired: 'bad',
  cancelled: 'rest',
  unknown: 'bad',
  failed: 'bad',
  refused: 'bad',
};

/** Runs a command on a machine; one that is away does it when it is back, once. */
export function Command({ id, isHere }: { id: string; isHere: boolean }) {
  const words = useWords();
  const text = words.machines;
  const acts = useActs();
  const [draft, setDraft] = useDraft(`command-${id}`, { command: '' });
  const [running, setRunning] = useState<string>();
  const run = async (): Promise<void> => {
    const body = { op: 'shell', args: { command: draft.command }, detach: true, if_offline: 'wait' as const };
    const taken = await acts.run(async () => api.hosts.exec({ params: { device_id: id }, body }));
    if (taken && 'req_id' in taken) setRunning(taken.req_id);
  };
  return (
    <Section title={text.command}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void run();
        }}
      >
        <TextField
          label={text.commandLabel}
          value={draft.command}
          onInput={(command) => setDraft({ command })}
          hint={isHere ? text.commandHint : text.commandAway}
          isCode
          required
        />
        <div>
          <Button look="primary" type="submit" icon="play">
            {text.run}
          </Button>
        </div>
      </form>
      {running !== undefined && <Output id={running} key={running} />}
    </Section>
  );
}

/** What a command wrote, as it comes; after a cut it goes on at the byte where it was. */
function outputOf(id: string): LogSource {
  return async (onText, signal) => {
    let from = 0;
    for (;;) {
      try {
        const frames = api.hosts.execOutput.events(
          { params: { req_id: id }, query: { from } },
          { signal, timeoutMs: 45_000 },
        );
        for await (const frame of frames) {
          if (frame.event === 'end') return;
          from = frame.data.to;
          onText(frame.data.text);
        }
      } catch {
        if (signal.aborted) return;
        await new Promise((resolve) => setTimeout(resolve, 2_000));
      }
    }
  };
}

/** Why a machine did not do it, in words that say what to do where there are any. */
const whyOf = (error: string, text: Words['machines']): string =>
  Object.entries(text.execErrors).find(([code]) => error.startsWith(code))?.[1] ?? error;

const lookEveryMs = 2_000;

function Output({ id }: { id: string }) {
  const words = useWords();
  const text = words.machines;
  const acts = useActs();
  const source = useMemo(() => outputOf(id), [id]);
  const [isOver, setOver] = useState(false);
  const { data } = useAnswer(
    ['hosts', 'exec', id],
    async () => {
      const exec = await api.hosts.getExec({ params: { req_id: id } });
      if (!['waiting', 'sent', 'running'].includes(exec.state)) setOver(true);
      return exec;
    },
    { ...(!isOver && { everyMs: lookEveryMs }), kept: false },
  );
  // On a phone it begins below the screen, where nobody sees that something happens.
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => box.current?.scrollIntoView({ block: 'start' }), []);
  return (
    <div class="stack" ref={box}>
      {data && (
        <p class="facts">
          <Status tone={tones[outcomeOf(data)]}>{text.execStates[outcomeOf(data)]}</Status>
          {data.exit_code !== undefined && <span>{words.monitors.exitCode(data.exit_code)}</span>}
          {data.error !== undefined && <span>{whyOf(data.error, text)}</span>}
          {!isOver && (
            <Button
              look="danger"
              onPress={() => acts.run(async () => api.hosts.cancelExec({ params: { req_id: id } }))}
            >
              {words.cancel}
            </Button>
          )}
        </p>
      )}
      <Log source={source} label={text.output} />
    </div>
  );
}
