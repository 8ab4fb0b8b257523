export { type Protocol, protocols, type StreamReader, type StreamWriter, type Wire, wires } from './wires.ts';
export type { Block, Conversation, Event, Message, Reply, Tool, Usage } from './model.ts';
export { noUsage, plainText } from './model.ts';
export { ReplyReader } from './reply.ts';
export { readChatUsage } from './chat.answer.ts';
export { boundedFields, type Bounds, boundsOf, limitOf } from './limits.ts';
export { duplicateName, spliceJson } from './splice.ts';
export { type Frame, frameOf, SseReader } from './sse.ts';
export { countOf, isObject, numberOf, objectOf, objectsOf, textOf, Untranslatable, type Value } from './values.ts';
