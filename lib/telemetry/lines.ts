import { write, writeSync } from "node:fs";

/** What pino writes to. `flush` begins to write; `flushSync`, which pino calls after a fatal line, has written. */
type Lines = { write: (line: string) => void; flush: (done?: () => void) => void; flushSync: () => void };

const FLUSH_MS = 100;
const FLUSH_LENGTH = 16 * 1024;
/** A Linux pipe's capacity. */
const WRITE_BYTES = 64 * 1024;
/** How much may wait for a reader that takes nothing. What comes then is lost, rather than the memory. */
const MOST_LENGTH = 16 * 1024 * 1024;
const RETRY_MS = 5;
/** How long such a reader may hold up the end of the process. */
const PATIENCE_MS = 1_000;

/**
 * Gathers lines for a moment and writes them in the background; what cannot be written is dropped. Pino's own
 * destination measures all it holds at each line, and hangs where the disk is full or the reader gone.
 */
export function openLines(fd: number): Lines {
  let gathered = "";
  let timer: NodeJS.Timeout | undefined;
  let isWriting = false;
  let batch: Uint8Array = new Uint8Array();
  let inFlightBytes = 0; // of the batch's beginning
  let sentAtMs = 0;
  const schedule = () => {
    if (gathered.length >= FLUSH_LENGTH) flush();
    else if (gathered !== "") timer ??= setTimeout(flush, FLUSH_MS);
  };
  const take = () => {
    const taken = Buffer.from(gathered);
    gathered = "";
    return taken;
  };
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    if (isWriting || gathered === "") return;
    isWriting = true;
    batch = take();
    send();
  };
  const send = () => {
    inFlightBytes = Math.min(batch.length, WRITE_BYTES);
    sentAtMs = performance.now();
    write(fd, batch, 0, inFlightBytes, (error, written) => {
      inFlightBytes = 0;
      batch = left(batch, error, written);
      if (batch.length > 0) return void (error ? setTimeout(send, RETRY_MS) : send());
      isWriting = false;
      schedule();
    });
  };
  return {
    write: (line) => {
      if (gathered.length > MOST_LENGTH) return;
      gathered += line;
      schedule();
    },
    flush: (done) => {
      flush();
      done?.();
    },
    flushSync: () => {
      // On a blocking pipe whose reader has stopped a write never returns, and neither does an exit that waits for one.
      const isStuck = inFlightBytes > 0 && performance.now() - sentAtMs > PATIENCE_MS;
      if (isStuck) process.kill(process.pid, "SIGKILL");
      const rest = Buffer.concat([batch.subarray(inFlightBytes), take()]);
      batch = batch.subarray(0, inFlightBytes);
      writeAll(fd, rest);
    },
  };
}

/** What is still to be written; nothing where it is of no use to try again. */
function left(bytes: Uint8Array, error: NodeJS.ErrnoException | null, written: number): Uint8Array {
  if (!error) return bytes.subarray(written);
  return error.code === "EAGAIN" ? bytes : new Uint8Array();
}

/** Writes now, as long as somebody takes it. */
function writeAll(fd: number, bytes: Uint8Array): void {
  let rest = bytes;
  let untilMs = performance.now() + PATIENCE_MS;
  while (rest.length > 0 && performance.now() < untilMs) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
      untilMs = performance.now() + PATIENCE_MS;
    } catch (error) {
      rest = left(rest, error as NodeJS.ErrnoException, 0);
      if (rest.length > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
    }
  }
}
