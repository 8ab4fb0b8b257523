import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Owed } from './owed.ts';

/** A message of Postgres's protocol. */
function message(type: string, body = ''): Buffer {
  const bytes = Buffer.alloc(5 + body.length);
  bytes.write(type);
  bytes.writeUInt32BE(4 + body.length, 1);
  bytes.write(body, 5);
  return bytes;
}

const startup = Buffer.from('no type, and an S Q F Z in it');
const statement = Buffer.concat([message('P', 'Sync'), message('B', 'QQQQQ'), message('E'), message('S')]);
const rows = Buffer.concat([message('D', 'ZZZZZ Z'), message('D'), message('C', 'SELECT 2')]);
const ready = message('Z', 'I');

/** A connection whose server has answered its start-up. */
function started(): Owed {
  const owed = new Owed();
  owed.sent(startup);
  assert.equal(owed.isAwaited, true);
  owed.heard(Buffer.concat([message('R', 'ok'), message('S', 'a setting'), ready]));
  assert.equal(owed.isAwaited, false);
  return owed;
}

describe('answers that a server of the database owes', () => {
  test('a statement is answered by its last message, wherever the bytes are cut', () => {
    const answer = Buffer.concat([rows, ready]);
    for (let cut = 0; cut <= answer.length; cut++) {
      const owed = started();
      owed.sent(statement);
      owed.heard(answer.subarray(0, cut));
      // What a message is stands in its first five bytes.
      assert.equal(owed.isAwaited, cut < rows.length + 5, `${cut}`);
      owed.heard(answer.subarray(cut));
      assert.equal(owed.isAwaited, false);
    }
  });

  test('a commit that was sent with the statement before it is awaited once that one is answered', () => {
    const owed = started();
    owed.sent(Buffer.concat([statement, message('Q', 'commit')]));
    owed.heard(Buffer.concat([rows, ready]));
    assert.equal(owed.isAwaited, true);
    owed.heard(ready);
    assert.equal(owed.isAwaited, false);
    owed.sent(statement);
    owed.sent(message('Q', 'commit'));
    owed.heard(Buffer.concat([rows, ready]));
    assert.equal(owed.isAwaited, true);
  });

  test('what is only flushed is awaited until the statement that it is of is answered', () => {
    const owed = started();
    owed.sent(Buffer.concat([message('P'), message('D'), message('H')]));
    owed.heard(message('1'));
    assert.equal(owed.isAwaited, true);
    owed.sent(Buffer.concat([message('B'), message('S')]));
    owed.heard(ready);
    assert.equal(owed.isAwaited, false);
  });

  test('nothing is awaited by what the server says unasked', () => {
    const owed = started();
    owed.heard(message('A', 'a notification'));
    assert.equal(owed.isAwaited, false);
  });
});
