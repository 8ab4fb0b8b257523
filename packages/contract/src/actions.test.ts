import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readFileSync } from 'node:fs';
import { allowedActions, allowedPath, isAllowedAction } from './actions.list.ts';
import { action, contract, type Route } from './index.ts';

describe('acts that a message may offer', () => {
  test('are routes of the API that take exactly such a body, or pages of the hub', () => {
    const routes = new Map(
      Object.values(contract)
        .flatMap((operations) => Object.values(operations as Record<string, Route>))
        .map((route) => [`${route.method} ${route.path.replace(/\{\w+\}/g, '{id}')}`, route]),
    );
    for (const { id, method, path, body } of allowedActions) {
      if (id === 'open') {
        assert.match(path, /^\/[a-z-]+(?:\/exec)?\/\{id\}$/);
        continue;
      }
      const route = routes.get(`${method} ${path}`);
      assert.ok(route, `${method} ${path}`);
      const takes = route.takes?.kind === 'json' ? route.takes.schema : undefined;
      if (takes) assert.ok(takes.safeParse(body).success, `${method} ${path}`);
      else assert.equal(body, undefined, `${method} ${path}`);
    }
  });

  test('are told from all others by button, method, path and body, whatever a message holds', () => {
    const run = '15da3b35-656e-4b62-a470-5924b3131a96';
    const approve = {
      id: 'approve',
      method: 'POST',
      path: `/v1/schedule-runs/${run}/decision`,
      body: { decision: 'approve' },
    };
    assert.ok(isAllowedAction(approve) && action.safeParse(approve).success);
    for (const change of [
      { id: 'skip' },
      { method: 'PUT' },
      { path: '/v1/keys' },
      { path: `/v1/schedule-runs/${run}/decision/` },
      { path: `/v1/schedule-runs/${run}/decision?x=1` },
      { path: '/v1/schedule-runs/../decision' },
      { path: '/v1/schedule-runs/%2e%2e/decision' },
      { path: `https://elsewhere.test/v1/schedule-runs/${run}/decision` },
      { path: 1 },
      { body: undefined },
      { body: { decision: 'skip' } },
      { body: { decision: 'approve', more: true } },
      { body: 'approve' },
    ]) {
      const other = { ...approve, ...change };
      assert.equal(isAllowedAction(other), false, JSON.stringify(change));
      assert.equal(action.safeParse(other).success, false, JSON.stringify(change));
    }
    for (const nothing of [undefined, null, 'approve', []]) assert.equal(isAllowedAction(nothing), false);
    assert.ok(allowedPath('/v1/schedules/pause', '/v1/schedules/pause'));
  });

  test('are known to a service worker that loads the list alone', () => {
    assert.doesNotMatch(readFileSync(new URL('./actions.list.ts', import.meta.url), 'utf8'), /^import /m);
  });
});
