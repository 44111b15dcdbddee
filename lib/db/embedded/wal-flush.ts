import { closeSync, fdatasync, fdatasyncSync, fsyncSync, openSync } from "node:fs";
import { promisify } from "node:util";

const flush = promisify(fdatasync);

/**
 * Flushes the write-ahead log off the event loop. PostgreSQL asks for the flush of a segment at each commit and goes on;
 * `flushed` resolves once all that was asked for is on the disk. Commits that come while a flush runs share the next
 * one, as under PostgreSQL's `commit_delay`.
 */
export class WalFlush {
  /** Requests are numbered; those up to `#flushedUpTo` are on the disk. */
  #requests = 0;
  #flushedUpTo = 0;
  #segment: { file: string; fd: number } | null = null;
  #running: { upTo: number; done: Promise<void> } | null = null;
  #next: Promise<void> | null = null;
  readonly #onFailure: (error: Error) => never;

  /** `onFailure` must end the process: after a failed fsync nobody knows what is on the disk (fsync(2), EIO). */
  constructor(onFailure: (error: Error) => never) {
    this.#onFailure = onFailure;
  }

  /** PostgreSQL wants a segment flushed. */
  request(file: string): void {
    if (this.#segment?.file !== file) this.#open(file);
    this.#requests += 1;
  }

  /** Flushes at once. What depends on the log must not reach the disk before it. */
  flushNow(): void {
    if (!this.#segment || this.#flushedUpTo === this.#requests) return;
    this.#orFail(fdatasyncSync, this.#segment.fd);
    this.#flushedUpTo = this.#requests;
  }

  /** Syncs another file, after the log. */
  syncFile(fd: number): void {
    this.flushNow();
    this.#orFail(fsyncSync, fd);
  }

  /** Resolves once everything requested so far is on the disk. */
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
    // Whatever else commits in this turn of the event loop joins.
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
