import { readChatReply, readChatUsage, writeChatReply } from './chat.answer.ts';
import { readChatRequest, writeChatRequest } from './chat.request.ts';
import { ChatReader } from './chat.reader.ts';
import { chatErrorFrame, ChatWriter } from './chat.writer.ts';
import type { WriteOptions } from './dialect.ts';
import { MessagesReader, readMessagesReply, readMessagesUsage, writeMessagesReply } from './messages.answer.ts';
import { readMessagesRequest, writeMessagesRequest } from './messages.request.ts';
import { messagesErrorFrame, MessagesWriter } from './messages.writer.ts';
import type { Conversation, Event, Reply, Usage } from './model.ts';
import type { Protocol } from './protocol.ts';
import { readResponsesReply, readResponsesUsage, writeResponsesReply } from './responses.items.ts';
import { readResponsesRequest, writeResponsesRequest } from './responses.request.ts';
import { ResponsesReader } from './responses.reader.ts';
import { responsesErrorFrame, ResponsesWriter } from './responses.stream.ts';
import { type Frame, frameOf } from './sse.ts';
import type { Value } from './values.ts';

/** Reads a stream, frame by frame; its last event is `end` or `error`. */
export interface StreamReader {
  push(frame: Frame): Event[];
  /** The stream is over without a last word. */
  end(): Event[];
  /** The last frame as it should have been, where its sender numbered what it holds so that clients would mix it up. */
  readonly mended?: string | undefined;
}

/** Writes a stream, event by event. */
export interface StreamWriter {
  push(event: Event): string[];
}

/** How one protocol is read and written. Times are in seconds since the epoch. */
export interface Wire {
  /** Below the lane's address. */
  readonly path: string;
  /** The list that every whole answer has. */
  readonly list: string;
  readRequest(body: Value): Conversation;
  writeRequest(conversation: Conversation, model: string, options?: WriteOptions): Value;
  readReply(body: Value): Reply;
  writeReply(reply: Reply, created: number): Value;
  /** Usage that a whole answer reports. */
  readUsage(body: Value): Usage | undefined;
  /** `tools`: the names of those that the request offers. */
  reader(options?: { tools?: readonly string[] }): StreamReader;
  writer(options: { created: number; tellsUsage: boolean }): StreamWriter;
  /** The last word of a stream that failed. */
  errorFrame(message: string): string;
  /** The last word of a stream that went well, where its upstream forgot it. */
  readonly lastFrame: string;
}

/** Each protocol's wire. */
export const wires: Readonly<Record<Protocol, Wire>> = {
  chat: {
    path: '/chat/completions',
    list: 'choices',
    readRequest: readChatRequest,
    writeRequest: writeChatRequest,
    readReply: readChatReply,
    writeReply: writeChatReply,
    readUsage: ({ usage }) => readChatUsage(usage),
    reader: (options) => new ChatReader(options),
    writer: (options) => new ChatWriter(options),
    errorFrame: chatErrorFrame,
    lastFrame: frameOf('[DONE]'),
  },
  messages: {
    path: '/v1/messages',
    list: 'content',
    readRequest: readMessagesRequest,
    writeRequest: writeMessagesRequest,
    readReply: readMessagesReply,
    writeReply: writeMessagesReply,
    readUsage: ({ usage }) => readMessagesUsage(usage),
    reader: () => new MessagesReader(),
    writer: () => new MessagesWriter(),
    errorFrame: messagesErrorFrame,
    lastFrame: frameOf({ type: 'message_stop' }, 'message_stop'),
  },
  responses: {
    path: '/responses',
    list: 'output',
    readRequest: readResponsesRequest,
    writeRequest: writeResponsesRequest,
    readReply: readResponsesReply,
    writeReply: writeResponsesReply,
    readUsage: readResponsesUsage,
    reader: () => new ResponsesReader(),
    writer: (options) => new ResponsesWriter(options),
    errorFrame: responsesErrorFrame,
    lastFrame: '',
  },
};
