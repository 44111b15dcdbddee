import { write, writeSync } from "node:fs";

/** What pino writes to. `flush` begins to write, `flushSync` is done when it returns; pino does so after a fatal line. */
type Lines = { write: (line: string) => void; flush: (done?: () => void) => void; flushSync: () => void };

const NOTHING = new Uint8Array();
const CHUNK_LENGTH = 16 * 1024;
const FLUSH_MS = 100;
/** How much may wait for a reader that takes nothing. What comes then is lost, rather than the memory. */
const MOST_LENGTH = 16 * 1024 * 1024;
const RETRY_MS = 20;
/** How long the end of the process may be held up by such a reader. */
const LAST_WORDS_MS = 1_000;

/**
 * Gathers lines for a moment and writes them in the background. Pino's own destination measures all it holds at
 * each line, ends the process when the disk is full, and never ends it when the reader is gone.
 */
export function openLines(fd: number): Lines {
  let gathered = "";
  let timer: NodeJS.Timeout | undefined;
  let isWriting = false;
  /** What a full pipe did not take. */
  let refused: Uint8Array = NOTHING;
  const schedule = () => {
    if (gathered.length >= CHUNK_LENGTH) flush();
    else if (gathered !== "") timer ??= setTimeout(flush, FLUSH_MS);
  };
  const take = () => {
    clearTimeout(timer);
    timer = undefined;
    const taken = Buffer.from(gathered);
    gathered = "";
    return taken;
  };
  const flush = () => {
    if (isWriting) timer = undefined;
    else if (gathered !== "") send(take());
  };
  const send = (bytes: Uint8Array) => {
    isWriting = true;
    write(fd, bytes, (error, written) => {
      const rest = left(bytes, error, written);
      refused = error ? rest : NOTHING;
      if (refused.length > 0) return void setTimeout(() => send(refused), RETRY_MS);
      if (rest.length > 0) return send(rest);
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
      const rest = Buffer.concat([refused, take()]);
      refused = NOTHING;
      writeAll(fd, rest);
    },
  };
}

/** What is still to be written; nothing where it is of no use to try again. */
function left(bytes: Uint8Array, error: NodeJS.ErrnoException | null, written: number): Uint8Array {
  if (!error) return bytes.subarray(written);
  return error.code === "EAGAIN" ? bytes : NOTHING;
}

function writeAll(fd: number, bytes: Uint8Array): void {
  const untilMs = performance.now() + LAST_WORDS_MS;
  let rest = bytes;
  while (rest.length > 0 && performance.now() < untilMs) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
    } catch (error) {
      rest = left(rest, error as NodeJS.ErrnoException, 0);
      if (rest.length > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
    }
  }
}
