import type { Kernel } from '../../../kernel/kernel.ts';

/** Deletes the audio of a transcript, whatever of it is there. */
export async function deleteAudio({ blobs }: Pick<Kernel, 'blobs'>, accountId: string, id: string): Promise<void> {
  for (const name of await blobs.list(`audio/${accountId}/${id}/`)) await blobs.delete(name);
}
