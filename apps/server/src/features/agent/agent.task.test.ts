import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { shared } from '../../testing.shared.ts';
import { http, until } from '../../testing.ts';
import { TestMailServer } from '../notifications/notifications.testing.ts';
import { nodeOfTests } from '../sandboxes/sandboxes.testing.ts';
import { type Json, openScheduler } from '../scheduler/scheduler.testing.ts';
import { openModel } from './agent.testing.ts';

const trigger = { type: 'event', trigger_id: 'x' };

describe('an agent on a schedule, in the cloud', () => {
  const mail = new TestMailServer();
  const t = shared(async () => {
    await using opening = new AsyncDisposableStack();
    const model = opening.use(await openModel('priced'));
    await opening.use(mail).listen();
    const settings = {
      ...model.settings,
      SVC_SANDBOXD_SOCKET: nodeOfTests(),
      SVC_SMTP_URL: mail.url,
      SVC_MAIL_FROM: 'svc <bot@svc.test>',
    };
    // Ahead of the node's clock, which is the machine's: a sandbox that is over by that one is refused.
    const scheduler = opening.use(await openScheduler({ settings, start: Date.now() + 86_400_000 }));
    const all = opening.move();
    return { ...scheduler, model, [Symbol.asyncDispose]: () => all.disposeAsync() };
  });
  /** Runs an agent once and answers its run when it is over. */
  const runOf = async (spec: Json, state: string): Promise<Json> => {
    const schedule = await t.create({ kind: 'agent', spec, trigger, target: { type: 'cloud' } });
    await t.runNow(schedule);
    return t.turnTo(0, schedule, state);
  };
  const asked = (): Json => t.model.provider.taken[0]?.body;
  const toolsOf = (): string[] => asked().tools.map((tool: Json) => tool.function.name);
  const write = { name: 'sandbox_bash', input: { command: 'echo "ș" > out/note.txt; cat out/note.txt' } };

  test('works in a sandbox, and its run holds what was said and done', async () => {
    t.model.script({ text: 'I look.', calls: [write] }, (heard) => {
      assert.match(heard[0]?.text ?? '', /^stdout:\nș/);
      return { text: 'Done.' };
    });
    const run = await runOf({ prompt: 'Write a note.', permissions: ['edit'] }, 'succeeded');
    assert.match(run.log_tail, /\[sandbox_bash\] \{"command"/);
    assert.match(run.log_tail, /I look\.\n\nDone\.\n\n- \[note\.txt\]\(http.*signature=/);
    const [system, user] = asked().messages;
    assert.deepEqual([system.role, user], ['system', { role: 'user', content: 'Write a note.' }]);
    assert.deepEqual((await t.call('GET', '/v1/sandboxes?status=running')).body.data, []);
  });

  test('makes a document by a skill and a chart, edits a file, and hands them out by links that open', async () => {
    const code = [
      'import docx, matplotlib.pyplot as plt',
      'report = docx.Document(); report.add_heading("Raport ș"); report.save("out/report.docx")',
      'plt.plot([1, 4, 9]); plt.savefig("out/chart.png"); plt.close()',
    ].join('\n');
    const read = { name: 'sandbox_bash', input: { command: 'head -n 2 /opt/svc/skills/docx/SKILL.md' } };
    const written = { name: 'sandbox_edit', input: { path: 'out/list.txt', new_text: 'one\n' } };
    const edited = { name: 'sandbox_edit', input: { path: 'out/list.txt', old_text: 'one', new_text: 'two' } };
    t.model.script(
      { calls: [read] },
      (heard) => {
        assert.match(heard[0]?.text ?? '', /name: docx/);
        return { calls: [{ name: 'sandbox_python', input: { code } }, written, edited] };
      },
      { text: 'Here they are.' },
    );
    const run = await runOf({ prompt: 'Report.', skill: 'docx', permissions: 'edit' }, 'succeeded');
    assert.match(asked().tools[0].function.description, /skills\/docx\/SKILL\.md/);
    const links = [...run.log_tail.matchAll(/- \[(\S+)\]\((\S+)\)/g)] as RegExpExecArray[];
    const opened = await Promise.all(
      links.map(async ([, name, link = '']) => {
        const { pathname, search } = new URL(link);
        const answer = await fetch(t.gateway.url + pathname + search);
        return [
          name,
          Buffer.from(await answer.arrayBuffer())
            .toString('latin1')
            .slice(0, 4),
        ];
      }),
    );
    assert.deepEqual(Object.fromEntries(opened), {
      'chart.png': '\x89PNG',
      'list.txt': 'two\n',
      'report.docx': 'PK\x03\x04',
    });
  });

  test('each permission opens what it says: without one nothing is handed out, and no file of the run stays', async () => {
    for (const permissions of [undefined, 'read', [], ['read']]) {
      t.model.script({ calls: [write] }, { text: 'Read.' });
      const run = await runOf({ prompt: 'Look.', ...(permissions && { permissions }) }, 'succeeded');
      assert.doesNotMatch(run.log_tail, /note\.txt\]\(/);
      const recordings = ['transcripts_list', 'transcripts_get', 'transcripts_search'];
      const own = ['sandbox_bash', 'sandbox_python', 'sandbox_files'];
      assert.deepEqual(toolsOf(), [...own, ...recordings, 'message_owner']);
    }
    t.model.script(
      (heard) => {
        assert.deepEqual(heard, []);
        return { calls: [{ name: 'sandbox_bash', input: { command: 'echo "$HTTPS_PROXY" | wc -c' } }] };
      },
      { text: 'A patch.' },
    );
    await runOf({ prompt: 'Change it.', permissions: ['read', 'edit', 'pr'] }, 'succeeded');
    assert.ok(toolsOf().includes('sandbox_edit'));
    assert.match(asked().messages[0].content, /github\.com.*patch/);
  });

  test('the weekly digest of the templates runs, and its message really reaches the owner by e-mail', async () => {
    const { schedule } = (await t.call('POST', '/v1/schedules/templates', { template: 'weekly-transcripts-digest' }))
      .body;
    const { transcript } = (await t.call('POST', '/v1/transcripts', { title: 'Weekly planning' })).body;
    await t.gateway.kernel.sql`
      insert into transcripts.utterances (transcript_id, seq, account_id, speaker, track, start_ms, end_ms, text, words)
      values (${transcript.id}, 0, ${t.account.id}, 'S1', 'mic', 0, 1, 'Ana sends the contract.', to_tsvector('simple', ''))`;
    t.model.script(
      { calls: [{ name: 'transcripts_list', input: {} }] },
      (heard) => {
        assert.match(heard[0]?.text ?? '', /Weekly planning/);
        return { calls: [{ name: 'transcripts_get', input: { id: transcript.id } }] };
      },
      (heard) => {
        assert.match(heard.at(-1)?.text ?? '', /S1: Ana sends the contract/);
        return { calls: [{ name: 'message_owner', input: { subject: 'Digest', text: 'Decisions: none.' } }] };
      },
      (heard) => {
        assert.match(heard.at(-1)?.text ?? '', /sent, by e-mail too/);
        return { text: 'Sent.' };
      },
    );
    await t.runNow(schedule);
    await t.turnTo(0, schedule, 'succeeded');
    await until(() => {
      t.clock.advance(1_000);
      return mail.mails.length > 0;
    });
    assert.match(JSON.stringify(mail.mails[0]), /Digest/);
    const { notifications } = (await t.call('GET', '/v1/notifications')).body;
    assert.deepEqual([notifications[0].type, notifications[0].body], ['agent.message', 'Decisions: none.']);
  });

  test('its turns are paid by the key that asked: past its cap the run fails, and other keys go on', async () => {
    const terms = { scopes: ['schedules', 'sandboxes', 'chat'], spend_cap_micro_usd: 1 };
    const { key } = (await t.call('POST', '/v1/keys', terms)).body;
    const body = { name: 'capped', kind: 'agent', spec: { prompt: 'x' }, trigger, target: { type: 'cloud' } };
    const schedule = (await http(t.gateway.url, '/v1/schedules', { key, body })).body;
    const byKey = () => http(t.gateway.url, `/v1/schedules/${schedule.id}/run`, { method: 'POST', key });
    t.model.script({ calls: [write] }, { text: 'not asked' });
    await byKey();
    const run = await t.turnTo(0, schedule, 'failed');
    assert.match(run.error, /limit of rounds, time or spend/);
    await byKey();
    await until(async () => (await t.runsOf(schedule)).length === 2);
    assert.match((await t.turnTo(0, schedule, 'failed')).error, /spend cap of this key/);
    await t.call('PATCH', `/v1/schedules/${schedule.id}`, { enabled: false });
    t.model.script({ text: 'Mine.' });
    await runOf({ prompt: 'x' }, 'succeeded');
  });

  test('twenty at once of a key with a cap pass it by one turn at most', async () => {
    const cap = 60_000;
    const terms = { scopes: ['schedules', 'sandboxes', 'chat'], spend_cap_micro_usd: cap };
    const { key, id: keyId } = (await t.call('POST', '/v1/keys', terms)).body;
    const dearest = t.model.takesAll();
    const schedules = await Promise.all(
      Array.from({ length: 20 }, async (_, n) => {
        const body = { name: `capped ${n}`, kind: 'agent', spec: { prompt: 'x' }, trigger, target: { type: 'cloud' } };
        return (await http(t.gateway.url, '/v1/schedules', { key, body })).body;
      }),
    );
    for (const { id } of schedules) await http(t.gateway.url, `/v1/schedules/${id}/run`, { method: 'POST', key });
    await until(async () => {
      t.clock.advance(100);
      const runs = await Promise.all(schedules.map(async (schedule) => (await t.runsOf(schedule))[0]));
      return runs.every(({ state }) => state === 'succeeded' || state === 'failed');
    });
    const [spent] = await t.gateway.kernel.sql<{ cost: number }[]>`
      select coalesce(sum(cost_micro_usd), 0)::bigint as cost from kernel.usage_records where key_id = ${keyId}`;
    const cost = Number(spent?.cost);
    assert.ok(cost > cap * 0.2 && cost <= cap + dearest(), `${cost} of ${cap}, one is ${dearest()}`);
  });

  const sleep = { name: 'sandbox_bash', input: { command: 'touch out/begun; sleep 600' } };
  const noSandbox = () =>
    until(async () => (await t.call('GET', '/v1/sandboxes?status=running')).body.data.length === 0);
  /** Begins a run whose agent sleeps in its sandbox. */
  const asleep = async (fields: Json = {}): Promise<{ schedule: Json; run: Json }> => {
    const spec = { prompt: 'Sleep.' };
    const schedule = await t.create({ kind: 'agent', spec, trigger, target: { type: 'cloud' }, ...fields });
    await t.runNow(schedule);
    const run = await t.turnTo(0, schedule, 'running');
    await until(async () => (await t.call('GET', '/v1/sandboxes?status=running')).body.data.length === 1);
    return { schedule, run };
  };

  test('what its turns cost is on its run, also when a later one fails', async () => {
    t.model.script({ calls: [write] }, { act: (response) => void response.writeHead(500).end() });
    const run = await runOf({ prompt: 'x' }, 'failed');
    assert.match(run.error, /every lane/);
    assert.ok(run.cost_micro_usd > 0);
    await noSandbox();
  });

  test('one that is cancelled in the middle of a tool ends with its sandbox', async () => {
    t.model.script({ calls: [sleep] }, { text: 'Awake.' });
    const { schedule, run } = await asleep();
    await t.call('POST', `/v1/schedule-runs/${run.id}/cancel`);
    await t.turnTo(0, schedule, 'cancelled');
    await noSandbox();
  });

  test('one whose account is suspended in the middle is handed back with its cost, and goes on when the account may', async () => {
    t.model.script({ calls: [sleep] }, { text: 'Awake.' });
    const { schedule, run } = await asleep();
    const { sql } = t.gateway.kernel;
    await sql`update accounts.accounts set suspended_at = now() where id = ${t.account.id}`;
    const rowOf = async () =>
      (await sql<Json[]>`select state, cost_micro_usd from scheduler.runs where id = ${run.id}`)[0];
    await until(async () => (t.clock.advance(1_000), (await rowOf())?.['state'] === 'pending'));
    const paid = (await rowOf())?.['cost_micro_usd'];
    assert.ok(paid > 0);
    await sql`update accounts.accounts set suspended_at = null where id = ${t.account.id}`;
    t.model.script({ text: 'Done.' });
    const done = await t.turnTo(0, schedule, 'succeeded');
    assert.ok(done.cost_micro_usd > paid);
    await noSandbox();
  });

  test('one that cannot go on says why', async () => {
    t.model.script();
    const unknown = await runOf({ prompt: 'x', skill: 'juggling' }, 'failed');
    assert.match(unknown.error, /no skill juggling.*docx/);
    t.model.script({ act: (response) => void response.writeHead(500).end() });
    assert.match((await runOf({ prompt: 'x' }, 'failed')).error, /every lane/);
    t.model.script({ text: 'I', finish: 'length' });
    assert.match((await runOf({ prompt: 'x' }, 'failed')).error, /limit/);
  });
});
