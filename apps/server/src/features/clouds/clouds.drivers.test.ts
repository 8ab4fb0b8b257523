import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { ConfigError } from '../../config.ts';
import { testClock } from '../../kernel/base/clock.ts';
import { createUpstream } from '../../kernel/outside/upstream.ts';
import type { Cloud, CloudFailure } from './clouds.driver.ts';
import { ec2 } from './clouds.ec2.ts';
import { parseClouds } from './clouds.file.ts';
import { hetzner } from './clouds.hetzner.ts';
import { FakeEc2, FakeHetzner } from './clouds.testing.ts';
import { readXml, textAt } from './clouds.xml.ts';
import { checkClouds, checkCloudsFile } from './index.ts';

const secrets = { hetzner: 'hetzner-secret', ec2: 'AKID:ec2-secret' };
const fakes = { hetzner: () => new FakeHetzner().listen(), ec2: () => new FakeEc2().listen() };
const drivers = { hetzner, ec2 };

/** A folder with a key and a providers file that lists a provider. */
class Place implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'svc-clouds-'));
  readonly place = { config: { baseUrl: 'https://svc.example.com' }, dataDir: this.folder } as Parameters<
    typeof checkClouds
  >[0];

  write(...environments: object[]): string {
    const text = JSON.stringify({ environments });
    writeFileSync(join(this.folder, 'providers.json'), text);
    return text;
  }

  entry(kind: keyof typeof secrets, url: string): object {
    const file = join(this.folder, 'key');
    writeFileSync(file, secrets[kind]);
    const image = kind === 'ec2' ? { image: 'ami-1' } : {};
    return { id: 'main', kind, token_file: file, base_url: kind === 'hetzner' ? `${url}/v1` : url, ...image };
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true });
  }
}

/** A driver against its fake. */
async function opened(kind: keyof typeof secrets, installation = 'here') {
  const fake = await fakes[kind]();
  const place = new Place();
  const upstream = createUpstream();
  const clock = testClock();
  const [entry] = parseClouds(place.write(place.entry(kind, fake.url)), clock);
  assert.ok(entry);
  const of = (name: string): Cloud => drivers[kind]({ kernel: { upstream, clock }, entry, installation: name });
  return {
    fake,
    clock,
    of,
    cloud: of(installation),
    async [Symbol.asyncDispose]() {
      await upstream.close();
      await fake[Symbol.asyncDispose]();
      place[Symbol.dispose]();
    },
  };
}

const wanted = (environmentId: string = randomUUID()) => ({
  environmentId,
  size: 'small' as const,
  userData: '#!/bin/sh\n',
  once: environmentId,
});
const failure = (kind: CloudFailure['kind'], words: RegExp) => (error: CloudFailure) => {
  assert.deepEqual([error.name, error.kind], ['CloudFailure', kind], error.message);
  assert.match(error.message, words);
  assert.doesNotMatch(error.message, /secret/);
  return true;
};

for (const kind of ['hetzner', 'ec2'] as const) {
  const make = kind === 'hetzner' ? 'POST /servers' : 'RunInstances';
  describe(`machines of ${kind}`, () => {
    test('a machine is made with its labels, found by them, stopped, started and deleted; a repeat of each changes nothing', async () => {
      await using t = await opened(kind);
      const machine = wanted();
      assert.equal(await t.cloud.read(machine.environmentId), undefined);
      const made = await t.cloud.create(machine);
      assert.deepEqual([made.status, made.environmentId], ['making', machine.environmentId]);
      assert.deepEqual(await t.cloud.create(machine), made);
      assert.equal(t.fake.machines.size, 1);
      const status = async () => (await t.cloud.read(machine.environmentId))?.status;
      t.fake.settle();
      assert.equal(await status(), 'on');
      await t.cloud.stop(made.ref, false);
      assert.equal(await status(), 'stopping');
      t.fake.settle();
      assert.equal(await status(), 'off');
      await t.cloud.start(made.ref);
      t.fake.settle();
      assert.equal(await status(), 'on');
      await t.cloud.delete(made.ref);
      assert.equal(await status(), 'leaving');
      t.fake.settle();
      assert.equal(await status(), undefined);
      t.fake.settle();
      await t.cloud.delete(made.ref);
      const [one] = t.fake.calls.filter(({ action }) => action === make);
      assert.match(JSON.stringify(one), /svc-installation/);
    });

    test('a list has every machine of the installation, over all its pages, and none of another one', async () => {
      await using t = await opened(kind);
      const ids = Array.from({ length: kind === 'hetzner' ? 60 : 3 }, () => randomUUID());
      for (const id of ids) await t.cloud.create(wanted(id));
      await t.of('elsewhere').create(wanted());
      const found = (await t.cloud.list()).map(({ environmentId }) => environmentId ?? '');
      assert.deepEqual(found.toSorted(), ids.toSorted());
    });

    test('an answer that is lost after the machine was made leads to the same machine at the next try', async () => {
      await using t = await opened(kind);
      t.fake.faults = [{ action: make, how: 'lose' }];
      const machine = wanted();
      await assert.rejects(t.cloud.create(machine), failure('lost', /did not answer/));
      assert.equal(t.fake.machines.size, 1);
      assert.equal((await t.cloud.create(machine)).environmentId, machine.environmentId);
      assert.equal(t.fake.machines.size, 1);
    });

    test('each refusal says whether to try again, in the words of the provider and without a secret', async () => {
      await using t = await opened(kind);
      const refusals: [object, CloudFailure['kind'], RegExp][] = [
        [{ status: 401, code: 'AuthFailure' }, 'busy', /401/],
        [{ status: 403, code: 'forbidden', message: `no ${secrets[kind]} here` }, 'refused', /403: no \*\*\* here/],
        [{ status: 422, code: 'invalid_input', message: 'no such image' }, 'refused', /422: no such image/],
        [{ status: 500 }, 'lost', /500/],
        [{ status: 503 }, 'lost', /503/],
        kind === 'hetzner'
          ? [{ status: 412, code: 'resource_unavailable' }, 'full', /412/]
          : [{ status: 500, code: 'InsufficientInstanceCapacity' }, 'full', /500/],
      ];
      for (const [fault, expected, words] of refusals) {
        t.fake.faults = [fault];
        await assert.rejects(t.cloud.create(wanted()), failure(expected, words));
      }
      t.fake.faults = [{ status: 429, headers: { 'retry-after': '7' } }];
      await assert.rejects(t.cloud.list(), (error: CloudFailure) => error.kind === 'busy' && error.waitMs === 7_000);
    });

    test('a provider that says nothing is given up after 30 s', async () => {
      await using t = await opened(kind);
      t.fake.faults = [{ how: 'hang' }];
      const called = t.fake.called();
      const asked = assert.rejects(t.cloud.list(), failure('lost', /within 30 s/));
      await called;
      t.clock.advance(30_000);
      await asked;
    });

    test('svc providers check names a machine type of each, or says why not', async () => {
      await using fake = await fakes[kind]();
      using place = new Place();
      place.write(place.entry(kind, fake.url));
      checkCloudsFile(place.place);
      const { ok, providers } = await checkClouds(place.place);
      assert.match(JSON.stringify(providers), kind === 'hetzner' ? /hetzner has cx22 in/ : /ec2 has t3\.small in/);
      assert.equal(ok, true);
      fake.faults = [{ status: 401, code: 'AuthFailure', message: 'no' }];
      const failed = await checkClouds(place.place);
      assert.equal(failed.ok, false);
      assert.match(JSON.stringify(failed.providers), /it answered 401: no, after/);
      const config = { ...place.place.config, baseUrl: 'http://127.0.0.1:8787' };
      const { ok: isReached, providers: rows } = await checkClouds({ ...place.place, config });
      assert.equal(isReached, false);
      assert.match(JSON.stringify(rows), /machines cannot reach http:\/\/127\.0\.0\.1:8787/);
    });
  });
}

describe('the list of machines in the providers file', () => {
  for (const [what, fault, ...entries] of [
    ['a kind that nobody knows', /environments\.0\.kind/, { id: 'a', kind: 'attic', token_env: 'K' }],
    ['no token', /environments a: token_env or token_file: is required/, { id: 'a', kind: 'hetzner' }],
    ['no image where none is usual', /environments a: image/, { id: 'a', kind: 'ec2', token_env: 'K' }],
    ['a subnet for another kind', /for ec2 alone/, { id: 'a', kind: 'hetzner', token_env: 'K', subnet: 'x' }],
    [
      'a size that nobody knows',
      /environments\.0\.sizes/,
      { id: 'a', kind: 'hetzner', token_env: 'K', sizes: { huge: 'x' } },
    ],
    [
      'two of one place',
      /one kind and region/,
      { id: 'a', kind: 'hetzner', token_env: 'K' },
      { id: 'b', kind: 'hetzner', token_env: 'K', region: 'nbg1' },
    ],
  ] as const) {
    test(`with ${what} stops the start`, () => {
      using place = new Place();
      place.write(...entries);
      assert.throws(
        () => checkCloudsFile(place.place),
        (error) => error instanceof ConfigError && fault.test(error.message),
      );
    });
  }

  test('the region of callers may have another name at the provider', () => {
    using place = new Place();
    const text = place.write({ id: 'a', kind: 'ec2', token_env: 'K', image: 'ami-1', region_as: 'eu-central-1' });
    const [entry] = parseClouds(text, testClock());
    assert.deepEqual(
      [entry?.region, entry?.regionThere, entry?.baseUrl],
      ['eu-east-1', 'eu-central-1', 'https://ec2.eu-central-1.amazonaws.com'],
    );
  });
});

test('XML of a provider is read with its entities; what is none, or declares a document type, is refused', () => {
  const root = readXml('<?xml version="1.0"?><a x="1"><b>1 &lt; 2 &#65;</b><b><![CDATA[<c>]]></b><d/></a>');
  assert.equal(textAt(root, 'a', 'b'), '1 < 2 A');
  for (const bad of ['', 'x<', '<a>', '<a></b>', '<a/></a>', '<!DOCTYPE a [<!ENTITY b "c">]><a/>', '<a>'.repeat(100)])
    assert.throws(() => readXml(bad), /no XML/, bad);
});
