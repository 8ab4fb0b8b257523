import { useQueryClient } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import { api } from '../../api/client.ts';
import { fieldProblems } from '../../api/errors.ts';
import { useAnswer } from '../../api/queries.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { Menu } from '../../ui/Menu.tsx';
import { Section } from '../../ui/Page.tsx';
import { Answered } from '../../ui/State.tsx';
import { useWords, type Words } from '../../words/words.tsx';
import { RuleForm } from './RuleForm.tsx';
import type { Rule } from './ways.ts';

const key = ['notifications', 'preferences'];

/** The rules in their order, since the first one that names a type decides. */
export function Rules() {
  const words = useWords();
  const text = words.ways;
  const [editing, setEditing] = useState<number>();
  const answer = useAnswer(key, async () => (await api.notifications.getPreferences()).rules);
  const rules = answer.data ?? [];
  const [problems, setProblems] = useState<Record<string, string>>({});
  const { save, flip } = useSaving(rules, setProblems);
  const put = async (rule: Rule): Promise<boolean> => {
    const next = editing === rules.length ? [...rules, rule] : rules.map((one, at) => (at === editing ? rule : one));
    return save(next, `rules.${editing}.`);
  };
  const move = (from: number, to: number): Promise<unknown> => {
    const next = rules.toSpliced(from, 1);
    return flip(next.toSpliced(to, 0, rules[from] as Rule), text.saved);
  };
  return (
    <Section
      title={text.rules}
      acts={
        answer.data && (
          <Button icon="add" onPress={() => setEditing(rules.length)}>
            {text.addRule}
          </Button>
        )
      }
    >
      <p class="hint">{text.rulesHint}</p>
      <Answered answer={answer} rows={2}>
        {(all) =>
          all.length === 0 ? (
            <p class="hint">{text.noRules}</p>
          ) : (
            <ol class="rows" aria-label={text.rules}>
              {all.map((rule, at) => (
                <li key={`${rule.type}-${at}`} class="row padded">
                  <RuleText rule={rule} />
                  <Menu
                    label={words.moreActs}
                    items={[
                      { label: text.editRule, act: () => setEditing(at) },
                      ...(at > 0 ? [{ label: text.up, act: () => move(at, at - 1) }] : []),
                      ...(at < all.length - 1 ? [{ label: text.down, act: () => move(at, at + 1) }] : []),
                      { label: words.remove, act: () => flip(all.toSpliced(at, 1), text.removed), isDanger: true },
                    ]}
                  />
                </li>
              ))}
            </ol>
          )
        }
      </Answered>
      {editing !== undefined && (
        <RuleForm
          rule={rules[editing]}
          problems={problems}
          onSave={put}
          onClose={() => {
            setEditing(undefined);
            setProblems({});
          }}
        />
      )}
    </Section>
  );
}

/** Puts the rules in place of those before; `flip` shows them at once, with Undo. */
function useSaving(before: Rule[], onProblems: (problems: Record<string, string>) => void) {
  const acts = useActs();
  const words = useWords();
  const text = words.ways;
  const client = useQueryClient();
  const put = async (rules: Rule[]): Promise<Rule[]> => {
    const { rules: saved } = await api.notifications.setPreferences({ body: { rules } });
    client.setQueryData(key, saved);
    return saved;
  };
  return {
    save: async (rules: Rule[], path: string): Promise<boolean> => {
      onProblems({});
      const work = async () => {
        try {
          return await put(rules);
        } catch (error) {
          const all = Object.entries(fieldProblems(error, words)).filter(([name]) => name.startsWith(path));
          onProblems(Object.fromEntries(all.map(([name, problem]) => [name.slice(path.length), problem])));
          throw error;
        }
      };
      return (await acts.run(work, { done: text.saved })) !== undefined;
    },
    flip: (rules: Rule[], done: string) =>
      acts.flip({
        show() {
          client.setQueryData(key, rules);
          return () => client.setQueryData(key, before);
        },
        work: () => put(rules),
        back: () => put(before),
        done,
      }),
  };
}

/** A rule in words. */
function wordsOf({ channels, min_severity: least, quiet_hours: quiet }: Rule, words: Words): string {
  const text = words.ways;
  return [
    channels.length === 0 ? text.inboxOnly : channels.map((channel) => text.channels[channel]).join(', '),
    least !== undefined && least !== 'info' && text.from(words.alerts.severities[least]),
    quiet !== undefined && text.quietText(quiet.from, quiet.to, quiet.tz),
  ]
    .filter(Boolean)
    .join(' · ');
}

function RuleText({ rule }: { rule: Rule }) {
  const words = useWords();
  return (
    <span class="row-main">
      <span class="row-title">{rule.type === '*' ? words.ways.every : <code>{rule.type}</code>}</span>
      <span class="row-detail">{wordsOf(rule, words)}</span>
    </span>
  );
}
