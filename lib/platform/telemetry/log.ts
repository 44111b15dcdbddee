import { format, stripVTControlCharacters } from "node:util";
import { type Logger, pino } from "pino";
import type { Config } from "../config";
import { openLogDestination } from "./log-destination";

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
