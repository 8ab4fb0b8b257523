import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { refusals } from './fixtures/refusals.ts';
import { protocols } from './protocol.ts';
import { isFailure, masked, refusalIn } from './refusals.ts';
import { frameOf, SseReader } from './sse.ts';
import { isObject } from './values.ts';
import { wires } from './wires.ts';

const textOf = (body: unknown): string => (typeof body === 'string' ? body : JSON.stringify(body));

describe('a provider’s reason', () => {
  for (const { maker, body, words } of refusals) {
    test(`is read from its refusal: ${maker}`, () => assert.deepEqual(refusalIn(textOf(body)), words));

    if (words === undefined || typeof body === 'string') continue;
    test(`is read from a frame of a stream: ${maker}`, () => {
      assert.ok(isFailure(body));
      for (const protocol of protocols) {
        const type = isObject(body) && typeof body['type'] === 'string' ? body['type'] : undefined;
        // Types are names of events there.
        if (protocol !== 'chat' && type !== undefined && type !== 'error') continue;
        const [frame = assert.fail()] = new SseReader().push(Buffer.from(frameOf(textOf(body))));
        const [event] = wires[protocol].reader().push(frame);
        assert.equal(event?.type === 'error' && event.message, words.message, protocol);
      }
    });
  }

  test('is cut: 2,000 letters of a message, 300 of a text that is none of JSON', () => {
    assert.equal(refusalIn(JSON.stringify({ message: 'x'.repeat(9_000) }))?.message.length, 2_000);
    assert.equal(refusalIn('x'.repeat(9_000))?.message.length, 300);
    assert.equal(refusalIn(`${'x'.repeat(299)}🙂`)?.message.isWellFormed(), true);
  });

  test('is not found in what is an answer', () => {
    const fine = { choices: [], base_resp: { status_code: 0, status_msg: 'success' }, error: null };
    for (const body of [fine, { choices: [], code: 1, message: 'x' }, {}, [], 'x', { error: '' }])
      assert.equal(isFailure(body), false, JSON.stringify(body));
  });
});

test('a secret is masked whole where another one is how it begins', () => {
  const secrets = ['sk-abc', 'sk-abcdef', undefined, '', 'sk-abcde'];
  assert.equal(masked('sk-abcdef, sk-abc and sk-abcde', secrets), '***, *** and ***');
  assert.equal(masked('nothing', secrets), 'nothing');
});
