import { describe, test } from 'node:test';
import { docs } from '@svc/contract/docs';
import { testSandboxes } from '../../config.ts';
import { bodyIds, exampleIds, type Makers, type Preparation, Scene, sendExample } from '../../testing.examples.ts';
import { shared } from '../../testing.shared.ts';
import { openSandboxes } from './sandboxes.testing.ts';

const { create, exec } = docs.sandboxes;

const createSandbox = async (scene: Scene, fields: object = {}): Promise<string> =>
  (await scene.call('POST', '/v1/sandboxes', { ...create.example.body, ...fields })).id;

/** Runs the command of the examples, which leaves a file under /workspace/out. */
const leaveFile = async (scene: Scene): Promise<unknown> =>
  scene.call('POST', `/v1/sandboxes/${await scene.id('sandbox')}/exec`, exec.example.body);

const makers: Makers = {
  cursor: async (scene) => (await scene.call('GET', '/v1/events')).cursor,
  sandbox: (scene) => createSandbox(scene),
  async pausedSandbox(scene) {
    const id = await createSandbox(scene);
    await scene.call('POST', `/v1/sandboxes/${id}/pause`);
    return id;
  },
  async artifact(scene) {
    await leaveFile(scene);
    const { data } = await scene.call('GET', `/v1/sandboxes/${await scene.id('sandbox')}/artifacts`);
    const { searchParams } = new URL(data[0].url);
    scene.set('expires', searchParams.get('expires') ?? '');
    scene.set('signature', searchParams.get('signature') ?? '');
    return data[0].id;
  },
};

const preparations: Record<string, Preparation> = {
  'sandboxes.stream': { whenOpen: (scene) => scene.id('sandbox') },
  'sandboxes.readFile': { before: leaveFile },
  'sandboxes.listFiles': { before: leaveFile },
  'sandboxes.snapshot': {
    before: async (scene) => scene.set('sandbox', await createSandbox(scene, { backend: 'v1' })),
  },
};

const skip = testSandboxes() === undefined && 'no sandboxes on this machine';

describe('the example of an operation on sandboxes is answered as it says:', { skip }, () => {
  const t = shared(() => openSandboxes());

  for (const id of exampleIds(true)) {
    test(id, async () => {
      const own = await t.fresh();
      await using scene = new Scene(t.gateway, own.account, makers);
      scene.closing.defer(() => own.clear());
      await sendExample(scene, id, preparations[id]);
    });
  }

  for (const id of bodyIds(true)) {
    test(`${id}, with null for every optional field that its body does not set`, async () => {
      const own = await t.fresh();
      await using scene = new Scene(t.gateway, own.account, makers);
      scene.closing.defer(() => own.clear());
      await sendExample(scene, id, preparations[id], { nulls: true });
    });
  }
});
