import assert from 'node:assert/strict';
import { test } from 'node:test';
import { arrivalOf, noteOf, withdrawnBy } from '../src/push.note.rules.ts';
import { wordsOfNotes } from '../src/words/notes.ts';

const words = wordsOfNotes('en-GB');
const run = '15da3b35-656e-4b62-a470-5924b3131a96';
const approve = {
  id: 'approve',
  method: 'POST',
  path: `/v1/schedule-runs/${run}/decision`,
  body: { decision: 'approve' },
};
const skip = { ...approve, id: 'skip', body: { decision: 'skip' } };
const buttonsOf = (options: object): string[] =>
  (options as { actions: { action: string }[] }).actions.map(({ action }) => action);

test('a push has two buttons at most, of acts that are on the list', () => {
  const archive = { id: 'archive', method: 'PATCH', path: `/v1/notifications/${run}`, body: { archived: true } };
  const { title, options } = noteOf(
    { notification: { title: 'Deploy', body: 'make', tag: run }, svc: { id: run, actions: [approve, skip, archive] } },
    words,
  );
  assert.deepEqual([title, buttonsOf(options)], ['Deploy', ['approve', 'skip']]);
});

test('a push that names its browser is told of as arrived, one that withdraws another or names something else is not', () => {
  const path = `/v1/push/subscriptions/${run}/delivered`;
  const body = JSON.stringify({ notification_id: run });
  assert.deepEqual(arrivalOf({ svc: { id: run, subscription: run } }), { path, body });
  for (const svc of [{ id: run }, { id: run, subscription: run, over: true }, { subscription: run }])
    assert.equal(arrivalOf({ svc }), undefined);
  for (const subscription of ['../../me', `${run}/x`, '', 7, null, [run]])
    assert.equal(arrivalOf({ svc: { id: run, subscription } }), undefined);
  assert.equal(arrivalOf({}), undefined);
});

test('an act that is not on the list is no button, whatever the push holds', () => {
  const hostile = [
    { ...approve, path: '/v1/me' },
    { ...approve, path: `https://evil.example/v1/schedule-runs/${run}/decision` },
    { ...approve, method: 'DELETE' },
    { ...approve, body: { decision: 'approve', more: true } },
    { ...approve, id: 'anything' },
    null,
    'approve',
  ];
  assert.deepEqual(buttonsOf(noteOf({ svc: { actions: hostile } }, words).options), []);
  assert.equal(noteOf({ notification: { title: 7 }, svc: { actions: 'x' } }, words).title, words.title);
});

test('a push leads to its page below the address that the browser knows, whatever name its own address has', () => {
  const navigate = 'http://127.0.0.1:8787/hub/heartbeats/1';
  const open = { id: 'open', method: 'GET', path: `/schedule-runs/${run}` };
  const dataOf = (actions: object[]) =>
    (noteOf({ notification: { navigate }, svc: { actions } }, words).options as { data: { navigate?: string } }).data;
  const page = dataOf([open]).navigate;
  assert.equal(
    new URL(page ?? '', 'http://localhost:8787/hub/').href,
    `http://localhost:8787/hub/schedule-runs/${run}`,
  );
  assert.equal(dataOf([]).navigate, navigate);
});

test('a push whose cause is over makes no sound, and names what it takes the place of', () => {
  const message = { notification: { title: 'Deploy', tag: 'run:1' }, svc: { id: run, actions: [], over: true } };
  const { options } = noteOf(message, words);
  const { silent, renotify } = options as { silent?: boolean; renotify?: boolean };
  assert.deepEqual([silent, renotify, withdrawnBy(message)], [true, undefined, 'run:1']);
  assert.equal(withdrawnBy({ ...message, svc: { id: run } }), undefined);
});
