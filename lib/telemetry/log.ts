import { type Logger, pino } from "pino";
import type { Config } from "../config";
import { openLines } from "./lines";

const STDOUT = 1;

/**
 * The log: JSON lines on standard output, written beside the requests. A fatal line, and what is still gathered
 * when the process exits, are written at once.
 */
export function createLog(level: Config["LOG_LEVEL"]): Logger {
  const lines = openLines(STDOUT);
  process.on("exit", lines.flushSync);
  return pino({ level, base: null, timestamp: isoTime() }, lines);
}

/** Pino's `isoTime`, made once for all lines of a millisecond. */
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
