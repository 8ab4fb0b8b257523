/** Text that all routes which ask a model have in common. */
export const lanes =
  'The lanes of the model are tried in their order until one answers; a lane of the same protocol gets the request as it ' +
  'is, another one a translation. With `stream: true` the events of the protocol come; a stream that is cut ends with ' +
  'its error event, never as a whole answer.';
