import { z } from 'zod';
import { inferenceCodes, modelName } from './inference.ts';
import { route, socket } from './route.ts';

/** Speech and text both ways (document 1, Endpoints and Authentication 3; design: inference, Routes). */
export const realtime = {
  connect: route({
    method: 'GET',
    path: '/v1/realtime',
    summary: 'Talk with a model over a WebSocket, as OpenAI’s Realtime API',
    auth: 'key',
    refusesLogins: true,
    scopes: ['realtime'],
    tokenScope: 'realtime',
    query: z.object({ model: modelName, intent: z.enum(['transcription']).optional() }),
    answers: socket('realtime'),
    errors: inferenceCodes,
    metered: true,
  }),
};
