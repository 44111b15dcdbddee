import { format, stripVTControlCharacters } from "node:util";
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

const CONSOLE_LEVELS = { debug: "debug", log: "info", info: "info", warn: "warn", error: "error" } as const;

/** Has what libraries print become lines of the log: Next tells of its errors by `console`, Node of its warnings. */
export function logConsole(log: Logger): void {
  for (const [name, level] of Object.entries(CONSOLE_LEVELS)) {
    console[name as keyof typeof CONSOLE_LEVELS] = (...said: unknown[]) => {
      const err = said.find((one) => one instanceof Error);
      const text = format(...said.map((one) => (one instanceof Error ? one.message : one)));
      log[level]({ err }, stripVTControlCharacters(text).trim());
    };
  }
  process.removeAllListeners("warning");
  process.on("warning", (warning) => log.warn({ err: warning }, warning.message));
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
