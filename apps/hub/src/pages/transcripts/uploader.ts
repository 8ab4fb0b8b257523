import { api, failureOf } from '../../api/client.ts';
import {
  dropUpload,
  dropUploads,
  fileOf,
  keepFile,
  keepUpload,
  sharedId,
  type WaitingUpload,
  waitingUploads,
} from '../../uploads.store.ts';
import { afterFailure, markOf, nextPieceBytes, tusMetadata, waitMsOf } from './tus.rules.ts';

type UploadState = 'waiting' | 'sending' | 'paused' | 'offline' | 'finishing' | 'refused' | 'lost';

/** An upload as the page shows it. */
export interface ShownUpload extends WaitingUpload {
  state: UploadState;
  /** Bytes that the server has. */
  offset: number;
  /** Why it was refused, and whether the whole file was there by then. */
  refusal?: { error: unknown; isWhole: boolean };
}

const lockName = 'svc-upload';
const tus = { 'tus-resumable': '1.0.0' };
const pieceMs = 180_000;
/** The server looks at the whole file before it takes it. */
const finalizeMs = 180_000;

/** Uploads of this tab; they go on while other pages are open, and after a reload. One file is sent at a time, in one tab. */
class Uploader {
  #rows: readonly ShownUpload[] = [];
  readonly #files = new Map<string, Blob>();
  readonly #stops = new Map<string, AbortController>();
  readonly #heard = new Set<() => void>();
  #accountId: string | undefined;
  #onDone: (transcriptId: string) => void = () => {};

  /** Newest state of each upload; another array after each change. */
  get rows(): readonly ShownUpload[] {
    return this.#rows;
  }

  /** Calls `hear` after each change; answers how to stop. */
  listen(hear: () => void): () => void {
    this.#heard.add(hear);
    return () => this.#heard.delete(hear);
  }

  /** Goes on with what an earlier visit of this account began. What is of another account is forgotten. */
  async resume(accountId: string, onDone: (transcriptId: string) => void): Promise<void> {
    this.#onDone = onDone;
    if (this.#accountId === accountId) return;
    this.#accountId = accountId;
    for (const row of await waitingUploads(Date.now()).catch(() => [])) {
      if (row.id === sharedId) continue;
      if (row.accountId !== accountId) await dropUpload(row.id);
      else await this.#restore(row);
    }
  }

  async #restore(row: WaitingUpload): Promise<void> {
    const file = await fileOf(row.id).catch(() => undefined);
    if (file) this.#files.set(row.id, file);
    this.#set({ ...row, offset: 0, state: file ? (row.isPaused ? 'paused' : 'waiting') : 'lost' });
    if (row.uploadId !== undefined) {
      const found = await api.uploads.get({ params: { id: row.uploadId } }, { headers: tus }).catch(() => undefined);
      if (found) this.#change(row.id, { offset: found.offset });
    }
    if (file && !row.isPaused) this.#start(row.id);
  }

  /** Begins to upload a file. */
  async add(
    file: Blob & { name: string; lastModified: number },
    terms: Pick<WaitingUpload, 'title' | 'language' | 'folderId' | 'consent'>,
  ): Promise<void> {
    const row: WaitingUpload = {
      ...terms,
      id: crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`,
      ...(this.#accountId !== undefined && { accountId: this.#accountId }),
      name: file.name,
      bytes: file.size,
      lastModified: file.lastModified,
      mark: await markOf(file),
      at: Date.now(),
      isPaused: false,
    };
    this.#files.set(row.id, file);
    this.#set({ ...row, offset: 0, state: 'waiting' });
    await keepUpload(row).catch(() => {});
    // Where the browser has no room for it, the file is asked for again after a reload.
    await keepFile(row.id, file).catch(() => {});
    this.#start(row.id);
  }

  /** Stops an upload; it is said to rest once that holds over a reload too. */
  async pause(id: string): Promise<void> {
    this.#stops.get(id)?.abort();
    this.#change(id, { isPaused: true });
    await this.#keep(id);
    this.#change(id, { state: 'paused' });
  }

  async continue(id: string): Promise<void> {
    this.#change(id, { state: 'waiting', isPaused: false });
    await this.#keep(id);
    this.#start(id);
  }

  /** Takes the file again that this browser has not kept; false when it is another one. */
  async pick(id: string, file: File): Promise<boolean> {
    if ((await markOf(file)) !== this.#find(id)?.mark) return false;
    this.#files.set(id, file);
    await this.continue(id);
    return true;
  }

  /** Gives an upload up, here and at the server. */
  async drop(id: string): Promise<void> {
    const row = this.#find(id);
    this.#stops.get(id)?.abort();
    await this.#forget(id);
    if (row?.uploadId !== undefined)
      await api.uploads.remove({ params: { id: row.uploadId } }, { headers: tus }).catch(() => {});
  }

  /** Forgets every upload: somebody signed out. */
  async clear(): Promise<void> {
    for (const stop of this.#stops.values()) stop.abort();
    this.#rows = [];
    this.#files.clear();
    this.#accountId = undefined;
    await dropUploads().catch(() => {});
  }

  #find(id: string): ShownUpload | undefined {
    return this.#rows.find((row) => row.id === id);
  }

  #set(row: ShownUpload): void {
    this.#rows = [...this.#rows.filter(({ id }) => id !== row.id), row];
    for (const hear of this.#heard) hear();
  }

  #change(id: string, change: Partial<ShownUpload>): void {
    this.#rows = this.#rows.map((row) => (row.id === id ? { ...row, ...change } : row));
    for (const hear of this.#heard) hear();
  }

  async #keep(id: string): Promise<void> {
    const row = this.#find(id);
    if (!row) return;
    const { state: _state, offset: _offset, refusal: _refusal, ...kept } = row;
    await keepUpload(kept).catch(() => {});
  }

  async #forget(id: string): Promise<void> {
    this.#rows = this.#rows.filter((row) => row.id !== id);
    this.#files.delete(id);
    for (const hear of this.#heard) hear();
    await dropUpload(id).catch(() => {});
  }

  #start(id: string): void {
    this.#stops.get(id)?.abort();
    const stop = new AbortController();
    this.#stops.set(id, stop);
    const { signal } = stop;
    const work = (): Promise<void> => this.#run(id, signal);
    const run = navigator.locks ? navigator.locks.request(lockName, { signal }, work) : work();
    run.catch(() => {});
  }

  /** Sends a file to its end, over failures that pass. */
  async #run(id: string, signal: AbortSignal): Promise<void> {
    let tries = 0;
    while (!signal.aborted) {
      try {
        await this.#send(id, signal, () => {
          tries = 0;
        });
        signal.throwIfAborted();
        this.#change(id, { state: 'finishing' });
        const transcriptId = await this.#handIn(id, signal);
        await this.#forget(id);
        return this.#onDone(transcriptId);
      } catch (error) {
        if (signal.aborted) return;
        tries += 1;
        const failure = failureOf(error);
        const next = failure ? afterFailure(failure) : 'refused';
        if (next === 'refused') {
          const isWhole = this.#find(id)?.state === 'finishing';
          return this.#change(id, { state: 'refused', refusal: { error, isWhole } });
        }
        if (next === 'anew') {
          this.#forgetUpload(id);
          if (tries > 3) return this.#change(id, { state: 'refused', refusal: { error, isWhole: false } });
        }
        // A fault that comes again at once is waited for too.
        if (next === 'wait' || tries > 1) {
          this.#change(id, { state: 'offline' });
          await pause(waitMsOf(tries), signal);
        }
      }
    }
  }

  #forgetUpload(id: string): void {
    this.#rows = this.#rows.map((row) => {
      if (row.id !== id) return row;
      const { uploadId: _gone, ...rest } = row;
      return { ...rest, offset: 0 };
    });
    void this.#keep(id);
  }

  /** Sends what the server does not have yet; it alone knows how far the file is. */
  async #send(id: string, signal: AbortSignal, onProgress: () => void): Promise<void> {
    const file = this.#files.get(id);
    const row = this.#find(id);
    if (!file || !row) throw new Error('the file is not here');
    let offset = 0;
    let { uploadId } = row;
    const call = { signal, retries: 0 };
    if (uploadId === undefined) {
      const headers = {
        ...tus,
        'upload-length': String(file.size),
        'upload-metadata': tusMetadata({ filename: row.name.slice(0, 200) }),
      };
      uploadId = (await api.uploads.create({} as Parameters<typeof api.uploads.create>[0], { ...call, headers })).id;
      this.#change(id, { uploadId });
      await this.#keep(id);
    } else ({ offset } = await api.uploads.get({ params: { id: uploadId } }, { ...call, headers: tus }));
    let bytes = nextPieceBytes(file.size);
    while (offset < file.size) {
      signal.throwIfAborted();
      this.#change(id, { state: 'sending', offset });
      const began = performance.now();
      const end = Math.min(offset + bytes, file.size);
      await this.#piece(uploadId, offset, file.slice(offset, end), signal);
      offset = end;
      bytes = nextPieceBytes(file.size, { bytes, tookMs: performance.now() - began });
      onProgress();
    }
    this.#change(id, { offset });
  }

  async #piece(uploadId: string, offset: number, piece: Blob, signal: AbortSignal): Promise<void> {
    const headers = {
      ...tus,
      'content-type': 'application/offset+octet-stream',
      'upload-offset': String(offset),
    };
    await api.uploads.append(
      { params: { id: uploadId }, body: piece as unknown as Uint8Array<ArrayBuffer> },
      { signal, retries: 0, timeoutMs: pieceMs, headers },
    );
  }

  /** Makes the transcript of a whole file; one that is refused leaves none behind. */
  async #handIn(id: string, signal: AbortSignal): Promise<string> {
    const row = this.#find(id);
    if (row?.uploadId === undefined) throw new Error('nothing was uploaded');
    const { title, language, folderId, consent, uploadId, lastModified } = row;
    const body = {
      client_id: id,
      source: 'hub',
      // A file is written when its recording is over: about then.
      started_at: new Date(Math.min(lastModified || Date.now(), Date.now())).toISOString(),
      ...(title !== '' && { title }),
      ...(language !== '' && { language }),
      ...(folderId !== '' && { folder_id: folderId }),
      ...(consent !== '' && { consent }),
    };
    const { transcript } = await api.transcripts.create({ body }, { signal });
    const params = { id: transcript.id };
    try {
      const uploads = [{ track: 'mixed' as const, upload_id: uploadId }];
      await api.transcripts.finalize(
        { params, body: { duration_ms: 0, uploads, bookmarks: [] } },
        { signal, timeoutMs: finalizeMs },
      );
    } catch (error) {
      const failure = failureOf(error);
      if (failure && afterFailure(failure) === 'refused') await api.transcripts.remove({ params }).catch(() => {});
      throw error;
    }
    return transcript.id;
  }
}

/** Until so many milliseconds are over, or the network is back. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      removeEventListener('online', end);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    addEventListener('online', end);
    signal.addEventListener('abort', end);
  });
}

/** The uploads of this tab. */
export const uploader = new Uploader();
