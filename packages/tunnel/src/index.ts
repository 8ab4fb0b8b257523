export { frameOf, FrameReader, kinds } from './frames.ts';
export { asSocket } from './socket.ts';
