import type { Context } from '../../kernel/http/context.ts';
import { badRequest } from '../../kernel/http/errors.ts';
import type { Inference } from '../inference/index.ts';

/** Carries a form with a file to a lane, with the lane's own name of the model. */
export async function relayForm(inference: Inference, context: Context, path: string): Promise<void> {
  const form = await readForm(context);
  const model = form.get('model');
  if (typeof model !== 'string' || model === '') throw badRequest('model: is required', { model: ['is required'] });
  if (!(form.get('file') instanceof File))
    throw badRequest('file: is required', { file: ['must be a file of the form'] });
  await inference.runBytes(
    context,
    { model },
    {
      path,
      async bodyFor(name) {
        form.set('model', name);
        const encoded = new Response(form);
        const type = encoded.headers.get('content-type') ?? '';
        return { body: Buffer.from(await encoded.arrayBuffer()), type };
      },
    },
  );
}

async function readForm(context: Context): Promise<FormData> {
  const chunks: Buffer[] = [];
  for await (const chunk of context.upload as AsyncIterable<Buffer>) {
    context.hold(chunk.length);
    chunks.push(chunk);
  }
  const headers = { 'content-type': context.givenType };
  try {
    return await new Response(Buffer.concat(chunks), { headers }).formData();
  } catch {
    throw badRequest('the body is no form; send multipart/form-data with the fields file and model');
  }
}
