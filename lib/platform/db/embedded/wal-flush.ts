import { closeSync, fdatasync, fdatasyncSync, fsyncSync, openSync } from "node:fs";
import { promisify } from "node:util";

const flush = promisify(fdatasync);

/**
 * Flushes the write-ahead log without blocking the event loop. PostgreSQL requests a flush of a segment at each commit
 * and continues; `flushed` resolves when every request so far is on disk. Commits during a flush share the next flush,
 * as with PostgreSQL's `commit_delay`.
 */
export class WalFlush {
  /** The number of requests. The first `#flushedUpTo` of them are on disk. */
  #requests = 0;
  #flushedUpTo = 0;
  #segment: { file: string; fd: number } | null = null;
  #running: { upTo: number; done: Promise<void> } | null = null;
  #next: Promise<void> | null = null;
  readonly #onFailure: (error: Error) => never;

  /** `onFailure` must end the process: after a failed fsync it is unknown what is on disk (fsync(2), EIO). */
  constructor(onFailure: (error: Error) => never) {
    this.#onFailure = onFailure;
  }

  /** Requests a flush of a log segment. */
  request(file: string): void {
    if (this.#segment?.file !== file) this.#open(file);
    this.#requests += 1;
  }

  /** Flushes the log synchronously, before a change to another file that must not reach the disk first. */
  flushNow(): void {
    if (!this.#segment || this.#flushedUpTo === this.#requests) return;
    this.#orFail(fdatasyncSync, this.#segment.fd);
    this.#flushedUpTo = this.#requests;
  }

  syncFile(fd: number): void {
    this.flushNow();
    this.#orFail(fsyncSync, fd);
  }

  /** Resolves when every request so far is on disk. */
  async flushed(): Promise<void> {
    if (this.#flushedUpTo === this.#requests) return;
    if (this.#running && this.#running.upTo === this.#requests) return this.#running.done;
    this.#next ??= this.#startNext();
    return this.#next;
  }

  close(): void {
    this.flushNow();
    if (this.#segment) this.#closeUnused(this.#segment.fd);
    this.#segment = null;
  }

  #orFail(sync: (fd: number) => void, fd: number): void {
    try {
      sync(fd);
    } catch (error) {
      this.#onFailure(error as Error);
      throw error;
    }
  }

  #open(file: string): void {
    this.flushNow();
    if (this.#segment) this.#closeUnused(this.#segment.fd);
    this.#segment = { file, fd: openSync(file, "r+") };
  }

  #closeUnused(fd: number): void {
    if (this.#running) void this.#running.done.finally(() => closeSync(fd)).catch(() => {});
    else closeSync(fd);
  }

  async #startNext(): Promise<void> {
    await this.#running?.done;
    // Other commits in this turn of the event loop share the flush.
    await new Promise<void>((resolve) => setImmediate(resolve));
    this.#next = null;
    if (!this.#segment || this.#flushedUpTo === this.#requests) return;
    const upTo = this.#requests;
    this.#running = { upTo, done: this.#run(this.#segment.fd, upTo) };
    await this.#running.done;
  }

  async #run(fd: number, upTo: number): Promise<void> {
    try {
      await flush(fd);
      this.#flushedUpTo = Math.max(this.#flushedUpTo, upTo);
    } catch (error) {
      this.#onFailure(error as Error);
      throw error;
    } finally {
      this.#running = null;
    }
  }
}
