import { useQueryClient } from '@tanstack/preact-query';
import type { OutboxInput, OutboxOperation } from '@svc/sdk';
import { type ComponentChildren, createContext } from 'preact';
import { useCallback, useContext, useMemo, useRef, useState } from 'preact/hooks';
import { failureOf } from '../api/client.ts';
import { fieldProblems, problemOf } from '../api/errors.ts';
import { type AnswerOf, Sending } from '../api/sending.ts';
import { useWords, type Words } from '../words/words.tsx';
import { goToProblem } from './Field.tsx';
import { Reauth } from './Reauth.tsx';
import { done, type Said } from './outcomes.ts';
import { CornerContext, type Toast, Toasts } from './toasts.tsx';

/** What buttons do with the API, and how the page tells of it. */
export interface Acts {
  /** Says something in the corner, and to screen readers. */
  say(text: string, options?: { isProblem?: boolean; undo?: () => unknown }): void;
  /**
   * Runs a write; asks the person for a fresh proof where the API wants one, says a failure, and reads `stale` anew.
   * Undefined when it failed.
   */
  run<T>(
    work: () => Promise<T>,
    options?: { done?: Said<NoInfer<T>>; stale?: readonly string[] },
  ): Promise<T | undefined>;
  /** A reversible write: shown by `show` at once, with Undo for six seconds, taken back with the reason when it fails. */
  flip(change: {
    show: () => () => void;
    work: () => Promise<unknown>;
    back?: () => Promise<unknown>;
    done: string;
  }): Promise<void>;
  /** A write that is stored when there is no network, and goes once when there is; with `undo` for six seconds after it was made. */
  send<O extends OutboxOperation>(
    operation: O,
    input: OutboxInput<O>,
    done: Said<AnswerOf<O>>,
    stale?: readonly string[],
    undo?: () => unknown,
  ): Promise<boolean>;
  /** Forgets what waits to be sent. */
  forget(): Promise<void>;
  /** Sends what an earlier visit of this account stored. */
  resume(): void;
}

const Context = createContext<Acts | undefined>(undefined);
const toastMs = 6_000;
const mostToasts = 4;

/** Gives acts to all that stands inside. */
export function ActsProvider({ children }: { children: ComponentChildren }) {
  const words = useWords();
  const [dialogs, setDialogs] = useState<readonly string[]>([]);
  const said = useRef(words);
  said.current = words;
  const client = useQueryClient();
  const [toasts, setToasts] = useState<Toast[]>([]);
  const [proof, setProof] = useState<((isGiven: boolean) => void) | undefined>();
  const drop = (id: number): void => setToasts((all) => all.filter((toast) => toast.id !== id));
  const acts = useMemo(() => {
    let last = 0;
    const say: Acts['say'] = (text, { isProblem = false, undo } = {}) => {
      last += 1;
      const id = last;
      setToasts((all) => [...all, { id, text, isProblem, ...(undo && { undo }) }].slice(-mostToasts));
      setTimeout(() => drop(id), isProblem ? 2 * toastMs : toastMs);
    };
    const askProof = (): Promise<boolean> =>
      new Promise((resolve) => {
        setProof(() => (isGiven: boolean) => {
          setProof(undefined);
          resolve(isGiven);
        });
      });
    const stale = (topics: readonly string[] = []): void => {
      for (const topic of topics) void client.invalidateQueries({ queryKey: [topic] });
    };
    return makeActs({ say, askProof, stale, words: () => said.current });
  }, [client]);
  const enter = useCallback((dialog: string) => {
    setDialogs((all) => [...all, dialog]);
    return () => setDialogs((all) => all.filter((one) => one !== dialog));
  }, []);
  const corner = useMemo(() => ({ toasts, drop, dialogs, enter }), [toasts, dialogs]);
  return (
    <Context.Provider value={acts}>
      <CornerContext.Provider value={corner}>
        {children}
        {proof && <Reauth onEnd={proof} />}
        <Toasts />
      </CornerContext.Provider>
    </Context.Provider>
  );
}

/** Runs a write; once more after a fresh proof where the API wants one. */
const provenBy =
  (askProof: () => Promise<boolean>) =>
  async <T,>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      if (failureOf(error)?.code !== 'reauth_required' || !(await askProof())) throw error;
      return await work();
    }
  };

function makeActs(given: {
  say: Acts['say'];
  askProof: () => Promise<boolean>;
  stale: (topics?: readonly string[]) => void;
  words: () => Words;
}): Acts {
  const { say, askProof, stale, words } = given;
  const sending = new Sending((sent) => {
    stale(['notifications', 'scheduler', 'overview', 'prompts', 'sessions']);
    if (sent.state === 'sent') say(words().outbox.sent);
    else say(words().outbox.refused(problemOf(sent.error, words()).text), { isProblem: true });
  });
  const proven = provenBy(askProof);
  const tellOf = <T,>(said: Said<T>, result: T, options: { undo?: () => unknown } = {}): void => {
    const { came, text } = typeof said === 'string' ? done(said) : said(result);
    say(text, came === 'done' ? options : { isProblem: came === 'refused' });
  };
  const fail = (error: unknown): void => {
    const problems = new Set(Object.values(fieldProblems(error, words())));
    const tell = (): void => {
      const { text, detail } = problemOf(error, words());
      say(detail === undefined ? text : `${text} ${detail}`, { isProblem: true });
    };
    if (problems.size === 0) tell();
    // The form draws first: a field that says it needs nobody who says it again.
    else setTimeout(() => goToProblem(problems) || tell());
  };
  return {
    say,
    async run(work, { done: said, stale: topics } = {}) {
      try {
        const result = await proven(work);
        if (said !== undefined) tellOf(said, result);
        return result;
      } catch (error) {
        fail(error);
        return undefined;
      } finally {
        stale(topics);
      }
    },
    async flip({ show, work, back, done: said }) {
      const hide = show();
      try {
        await proven(work);
        const undo = back && (() => back().catch(fail));
        say(said, undo ? { undo } : {});
      } catch (error) {
        hide();
        fail(error);
      }
    },
    async send(operation, input, said, topics, undo) {
      try {
        const sent = await proven(async () => sending.send(operation, input));
        if (sent.state === 'sent') tellOf(said, sent.result, undo ? { undo } : {});
        else say(words().outbox.stored);
        return true;
      } catch (error) {
        fail(error);
        return false;
      } finally {
        stale(topics);
      }
    },
    forget: async () => sending.clear(),
    resume: () => sending.resume(),
  };
}

/** What buttons do. Throws outside of `ActsProvider`. */
export function useActs(): Acts {
  const acts = useContext(Context);
  if (!acts) throw new Error('no acts here');
  return acts;
}
