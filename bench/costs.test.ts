import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { testDatabase } from '../apps/server/src/testing.ts';
import { shared } from '../apps/server/src/testing.shared.ts';
import { type Cost, costOf } from './lib/costs.ts';
import { openStage } from './lib/stage.ts';
import { type Unit, units } from './lib/units.ts';
import { openWire } from './lib/wire.ts';

const budgets = JSON.parse(readFileSync(join(import.meta.dirname, 'costs.json'), 'utf8')) as Record<string, Cost>;

describe('units of work ask the database no oftener than bench/costs.json says:', () => {
  const { stage } = shared(async () => {
    await using opening = new AsyncDisposableStack();
    const { target } = opening.use(await testDatabase());
    assert.ok('embedded' in target);
    const wire = opening.use(await openWire(target.embedded));
    const embedded = { ...target.embedded, socketDir: wire.socketDir };
    const open = opening.use(await openStage(wire, { ...target, embedded }));
    const stack = opening.move();
    return { stage: open, [Symbol.asyncDispose]: () => stack.disposeAsync() };
  });

  for (const name of ['GET with a key', 'ping of a monitor', 'schedule created', 'run claimed', 'session event']) {
    test(name, async () => {
      const { statements, messages, asked } = await costOf(stage, units[name] as Unit, 3);
      const budget = budgets[name];
      assert.ok(budget && statements <= budget.statements && messages <= budget.messages, asked.join('\n'));
      assert.ok(statements > 0);
    });
  }
});
