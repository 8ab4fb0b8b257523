import type { ExampleRequest, Scene } from '../../apps/server/src/testing.examples.ts';
import { beginUpload } from '../../apps/server/src/features/uploads/uploads.testing.ts';

/** Another request than the example, where that one changes nothing. */
interface Variant {
  before(scene: Scene): Promise<unknown>;
  change(request: ExampleRequest): ExampleRequest;
}

const audio = 'audio';

/** A piece that is new; that of the examples is there already. */
const piece: Variant = {
  before: async (scene) => scene.set('upload', (await beginUpload(scene.gateway, scene.account, audio.length)).id),
  change: ({ headers, ...request }) => ({
    ...request,
    headers: { ...(headers as Record<string, string>), 'upload-offset': '0' },
    body: audio,
  }),
};

/** By `operationId`. */
export const variants: Readonly<Record<string, Variant>> = { 'uploads.append': piece, 'uploads.override': piece };
