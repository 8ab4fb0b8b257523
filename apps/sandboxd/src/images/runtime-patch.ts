import { open } from 'node:fs/promises';

/** A change of some bytes of a program whose hash is known; a program of another hash is never touched. */
export interface RuntimePatch {
  /** Where in the file. */
  at: number;
  /** Hexadecimal; both of one length. */
  from: string;
  to: string;
  /** Of the whole program afterwards. */
  sha256: string;
}

/**
 * What `google/gvisor` mended in its commit 5d85724 ("vfs: clear temporary notReady lists"), in the release that Debian has:
 * `EpollInstance.removeLocked` also sets the mask of a registration that is removed to 0. A snapshot may still hold such a
 * registration; after a restore it is looked at once, found to want nothing, and never told to the program, which would
 * take it for an object that it gave back long ago: the kernels of a Jupyter server ended so.
 *
 *     before                          after
 *     mov  0x30(%rsp), %rbx           mov  0x30(%rsp), %rbx     the registration
 *     cmpb $0, 0x44(%rbx)             xor  %ecx, %ecx
 *     je   unlock                     mov  %ecx, 0x40(%rbx)     mask = 0
 *     movb $0, 0x44(%rbx)             shrb 0x44(%rbx)           ready, 0 or 1, goes to the carry flag and becomes 0
 *                                     jae  unlock
 *     mov  0x28(%rsp), %rax           mov  0x28(%rsp), %rax
 *     add  $0xa8, %rax                add  $0xa8, %rax          the list of those that are ready, for the call that follows
 */
export const epollPatch: RuntimePatch = {
  at: 0x3f72c5,
  from: '488b5c2430807b44007415c6434400488b4424284805a800000090',
  to: '488b5c243031c9894b40d06b447311488b4424284805a800000090',
  sha256: 'e862f32d617fb849922f79d16201147aec7954c3059213df295705983a67e4db',
};

/** Changes a program in place; throws when other bytes are there. */
export async function applyPatch(program: string, { at, from, to }: RuntimePatch): Promise<void> {
  const file = await open(program, 'r+');
  try {
    const bytes = Buffer.from(to, 'hex');
    const { buffer } = await file.read(Buffer.alloc(bytes.length), 0, bytes.length, at);
    if (buffer.toString('hex') !== from) throw new Error('the program is not the one that the patch is for');
    await file.write(bytes, 0, bytes.length, at);
    await file.sync();
  } finally {
    await file.close();
  }
}
