import { pipeline } from 'node:stream/promises';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import type { Context } from '../../kernel/http/context.ts';
import { ApiError, badRequest } from '../../kernel/base/errors.ts';
import type { Inference } from '../inference/index.ts';

/** Fewer bytes a token than sound has at 6 kbit/s, ten tokens a second. */
const leastBytesOfToken = 20;

/** Carries a form with a file to a lane, with the lane's own name of the model. */
export async function relayForm(inference: Inference, context: Context, path: string): Promise<void> {
  const { form, bytes } = await readForm(context);
  const model = form.get('model');
  if (typeof model !== 'string' || model === '') throw badRequest('model: is required', { model: ['is required'] });
  if (!(form.get('file') instanceof File))
    throw badRequest('file: is required', { file: ['must be a file of the form'] });
  await inference.runBytes(
    context,
    { model },
    {
      path,
      most: {
        input: Math.ceil(bytes / leastBytesOfToken),
        output: Math.ceil(bytes / leastBytesOfToken),
        isSound: true,
      },
      async bodyFor(name) {
        form.set('model', name);
        const encoded = new Response(form);
        const type = encoded.headers.get('content-type') ?? '';
        return { body: Buffer.from(await encoded.arrayBuffer()), type };
      },
    },
  );
}

/** A form has a file, a model, and a few words on how to hear it; parts of it are read on the gateway's thread. */
const limits = { parts: 20, files: 1, fieldSize: 256 * 1024, headerSize: 8_192, headerPairs: 20 };
const tooMuch = `a form has one file and ${limits.parts} parts at most, each value up to 256 KiB`;

/** The form, read as it comes. Throws 400 for what is no form, or has more parts than one for speech has. */
async function readForm(context: Context): Promise<{ form: FormData; bytes: number }> {
  const form = new FormData();
  let bytes = 0;
  const parser = parserOf(context.givenType);
  const refuse = (): void => void parser.destroy(badRequest(tooMuch));
  for (const limit of ['partsLimit', 'filesLimit', 'fieldsLimit'] as const) parser.on(limit, refuse);
  parser.on('field', (name, value, _isNameCut, isValueCut) => {
    if (isValueCut) refuse();
    else form.append(name, value);
  });
  const files: Promise<void>[] = [];
  parser.on('file', (name, stream, filename, _encoding, type) => {
    const kept = async (): Promise<void> => {
      const chunks: Buffer<ArrayBuffer>[] = [];
      for await (const chunk of stream) chunks.push(chunk);
      form.append(name, new File(chunks, filename, { type }));
    };
    files.push(kept());
  });
  const counted = async function* (upload: AsyncIterable<Buffer>) {
    for await (const chunk of upload) {
      context.hold(chunk.length);
      bytes += chunk.length;
      yield chunk;
    }
  };
  try {
    await pipeline(counted(context.upload), parser);
    await Promise.all(files);
  } catch (error) {
    for (const file of files) file.catch(() => {});
    throw error instanceof ApiError ? error : noForm();
  }
  return { form, bytes };
}

const noForm = (): ApiError =>
  badRequest('the body is no form; send multipart/form-data with the fields file and model');

function parserOf(type: string): BusboyInstance {
  if (!/^multipart\/form-data\b/i.test(type)) throw noForm();
  try {
    return new Busboy({ headers: { 'content-type': type }, limits });
  } catch {
    throw noForm();
  }
}
