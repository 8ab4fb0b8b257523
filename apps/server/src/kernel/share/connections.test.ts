import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Connections } from './connections.ts';

describe('connections', () => {
  const limits = { total: 6, ofAccount: 5, of: { page: 3 } };

  test('are bounded by each thing they belong to and by account; one that is given back makes room once', () => {
    const connections = new Connections(limits);
    const open = (page: string) => connections.open('a', { page }, () => assert.fail('nobody else waits'));
    const first = open('x');
    assert.ok(first && open('x') && open('x'));
    assert.equal(open('x'), undefined, 'three of one page');
    assert.ok(open('y') && open('y'));
    assert.equal(open('z'), undefined, 'five of one account');
    first();
    first();
    assert.ok(open('x'));
    assert.equal(open('x'), undefined);
  });

  test('when all are taken, one that has fewer gets the newest of the account that has most', () => {
    const connections = new Connections({ ...limits, of: { page: 9 } });
    const ended: string[] = [];
    const open = (account: string, name: string) =>
      connections.open(account, { page: account }, () => ended.push(name)) !== undefined;
    for (let i = 1; i <= 5; i++) assert.ok(open('a', `a${i}`));
    assert.ok(open('b', 'b1'));
    assert.ok(open('c', 'c1'));
    assert.ok(open('b', 'b2'));
    assert.deepEqual(ended, ['a5', 'a4']);
    assert.equal(open('a', 'a6'), false, 'it has most itself');
    assert.ok(open('c', 'c2'));
    assert.deepEqual(ended, ['a5', 'a4', 'a3']);
    for (const account of ['a', 'b', 'c']) assert.equal(open(account, 'more'), false, 'all have the same');
  });
});
