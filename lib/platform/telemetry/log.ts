import { write, writeSync } from "node:fs";
import { format, stripVTControlCharacters } from "node:util";
import { type Logger, pino } from "pino";
import type { Config } from "../config";

const STDOUT = 1;

/**
 * Creates the log: JSON lines on standard output, written asynchronously. Fatal lines, and lines still buffered when
 * the process exits, are written synchronously.
 */
export function createLog(level: Config["LOG_LEVEL"]): Logger {
  const destination = openLogDestination(STDOUT);
  process.on("exit", destination.flushSync);
  return pino({ level, base: null, timestamp: isoTime() }, destination);
}

const CONSOLE_LEVELS = { debug: "debug", log: "info", info: "info", warn: "warn", error: "error" } as const;

/** Redirects what libraries print to the log: Next reports errors through `console`, Node emits warnings. */
export function logConsole(log: Logger): void {
  for (const [name, level] of Object.entries(CONSOLE_LEVELS)) {
    console[name as keyof typeof CONSOLE_LEVELS] = (...values: unknown[]) => {
      const err = values.find((value) => value instanceof Error);
      const text = format(...values.map((value) => (value instanceof Error ? value.message : value)));
      log[level]({ err }, stripVTControlCharacters(text).trim());
    };
  }
  process.removeAllListeners("warning");
  process.on("warning", (warning) => log.warn({ err: warning }, warning.message));
}

/** Pino's `isoTime`, formatted once per millisecond. */
function isoTime(): () => string {
  let atMs = 0;
  let text = "";
  return () => {
    const nowMs = Date.now();
    if (nowMs !== atMs) {
      atMs = nowMs;
      text = `,"time":"${new Date(nowMs).toISOString()}"`;
    }
    return text;
  };
}

/** Pino's destination. `flush` starts a write. `flushSync`, which pino calls after a fatal line, returns after it. */
type LogDestination = { write: (line: string) => void; flush: (done?: () => void) => void; flushSync: () => void };

const FLUSH_MS = 100;
const FLUSH_LENGTH = 16 * 1024;
/** A Linux pipe's capacity. */
const WRITE_BYTES = 64 * 1024;
/** How much is kept for a reader that has stopped reading. Later lines are dropped to bound the memory. */
const MAX_BUFFERED_LENGTH = 16 * 1024 * 1024;
const RETRY_MS = 5;
/** How long such a reader may delay the end of the process. */
const MAX_SYNC_WRITE_MS = 1_000;
/** After this time a background write counts as blocked. A shorter time could also mean a busy thread pool. */
const MAX_WRITE_MS = 10_000;

/**
 * Collects lines for a moment and writes them in the background; drops what cannot be written. Pino's own destination
 * measures its whole buffer at each line, and hangs if the disk is full or the reader is gone.
 */
export function openLogDestination(fd: number): LogDestination {
  let buffered = "";
  let timer: NodeJS.Timeout | undefined;
  let isWriting = false;
  let batch: Uint8Array = new Uint8Array();
  let inFlightBytes = 0; // at the start of the batch
  let sentAtMs = 0;
  const schedule = () => {
    if (buffered.length >= FLUSH_LENGTH) flush();
    else if (buffered !== "") timer ??= setTimeout(flush, FLUSH_MS);
  };
  const take = () => {
    const taken = Buffer.from(buffered);
    buffered = "";
    return taken;
  };
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    if (isWriting || buffered === "") return;
    isWriting = true;
    batch = take();
    send();
  };
  const send = () => {
    inFlightBytes = Math.min(batch.length, WRITE_BYTES);
    sentAtMs = performance.now();
    write(fd, batch, 0, inFlightBytes, (error, written) => {
      inFlightBytes = 0;
      batch = remaining(batch, error, written);
      if (batch.length > 0) return void (error ? setTimeout(send, RETRY_MS) : send());
      isWriting = false;
      schedule();
    });
  };
  return {
    write: (line) => {
      if (buffered.length > MAX_BUFFERED_LENGTH) return;
      buffered += line;
      schedule();
    },
    flush: (done) => {
      flush();
      done?.();
    },
    flushSync: () => {
      // A write to a blocking pipe whose reader has stopped never returns, and exit waits for it.
      const isBlocked = inFlightBytes > 0 && performance.now() - sentAtMs > MAX_WRITE_MS;
      if (isBlocked) process.kill(process.pid, "SIGKILL");
      const rest = Buffer.concat([batch.subarray(inFlightBytes), take()]);
      batch = batch.subarray(0, inFlightBytes);
      writeAll(fd, rest);
    },
  };
}

/** The bytes that remain to be written. None after an error that a retry cannot solve. */
function remaining(bytes: Uint8Array, error: NodeJS.ErrnoException | null, written: number): Uint8Array {
  if (!error) return bytes.subarray(written);
  return error.code === "EAGAIN" ? bytes : new Uint8Array();
}

/** Writes synchronously, as long as the reader makes progress. */
function writeAll(fd: number, bytes: Uint8Array): void {
  let rest = bytes;
  let untilMs = performance.now() + MAX_SYNC_WRITE_MS;
  while (rest.length > 0 && performance.now() < untilMs) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
      untilMs = performance.now() + MAX_SYNC_WRITE_MS;
    } catch (error) {
      rest = remaining(rest, error as NodeJS.ErrnoException, 0);
      if (rest.length > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
    }
  }
}
