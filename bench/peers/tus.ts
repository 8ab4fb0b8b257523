// @tus/server with @tus/file-store, as its README starts it; the folder of its files is the argument.
import { FileStore } from '@tus/file-store';
import { Server } from '@tus/server';

const server = new Server({ path: '/v1/uploads', datastore: new FileStore({ directory: process.argv[2] ?? '' }) });
const http = server.listen({ host: '127.0.0.1', port: 0 });
http.on('listening', () => {
  const address = http.address();
  process.stdout.write(`port ${typeof address === 'object' ? address?.port : ''}\n`);
});
