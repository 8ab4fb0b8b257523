import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { contract } from './index.ts';
import { type Route, scopesOf } from './route.ts';
import { scopeNames } from './scopes.ts';
import { appTrusts, freshSeconds, isStrong, reachOf, scopesOfApps } from './strength.ts';

const routes = Object.entries(contract).flatMap(([feature, verbs]) =>
  Object.entries(verbs as Record<string, Route>).map(([verb, route]) => ({ id: `${feature}.${verb}`, feature, route })),
);

describe('strength', () => {
  test('a route that gives away what lasts wants a fresh proof of who is signed in', () => {
    const giving = routes.filter(({ route }) => route.gives !== undefined);
    assert.ok(giving.length > 8);
    for (const { id, route } of giving) assert.equal(route.freshWithin, freshSeconds, id);
  });

  test('what a scope for reading alone, or for records alone, does not reach nobody is asked to prove anew', () => {
    for (const scope of scopeNames) if (scope.endsWith(':read')) assert.ok(!isStrong(scope), scope);
    assert.deepEqual(reachOf(['heartbeats', 'usage', 'hosts:read']), []);
    assert.deepEqual(reachOf(['notifications']), ['people']);
    assert.deepEqual(reachOf(['transcripts']), ['people', 'money']);
    assert.deepEqual(reachOf(['environments', 'environments:terminal', 'chat']), ['terminal', 'people', 'money']);
  });

  test('every scope that serves as a machine, or opens a terminal, is strong, and no app that nobody vouches for may have it', () => {
    const unknown = scopesOfApps('unknown');
    for (const scope of scopeNames.filter((one) => /:(?:serve|exec|terminal)$/.test(one))) {
      assert.ok(isStrong(scope), scope);
      assert.ok(!unknown.includes(scope), scope);
    }
  });

  test('the better an app is known, the more it may have, and never everything or to be a machine', () => {
    let less: readonly string[] = [];
    for (const trust of appTrusts) {
      const more: readonly string[] = scopesOfApps(trust);
      assert.deepEqual(
        less.filter((scope) => !more.includes(scope)),
        [],
        trust,
      );
      assert.ok(!more.some((scope) => scope === '*' || scope.endsWith(':serve')), trust);
      less = more;
    }
  });

  test('what apps need besides is a scope that the route takes by itself, or one that stands beside its own', () => {
    for (const { id, feature, route } of routes)
      if (route.ofApps !== undefined) {
        assert.ok(route.ofApps.startsWith(`${scopesOf(feature, route)[0]?.split(':', 1)[0]}:`), id);
        assert.ok(isStrong(route.ofApps), id);
      }
  });
});
