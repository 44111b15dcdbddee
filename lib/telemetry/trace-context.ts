import { AsyncLocalStorage } from "node:async_hooks";
import {
  type Context,
  type ContextManager,
  isSpanContextValid,
  ROOT_CONTEXT,
  type TextMapPropagator,
  TraceFlags,
  trace,
} from "@opentelemetry/api";

const HEADER = "traceparent";
/** W3C Trace Context, section 3.2: version 00, or what a newer one begins with. */
const TRACEPARENT = /^(?:00-(?=.{52}$)|(?!00|ff)[0-9a-f]{2}-)([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/;

/** A context whose spans have the caller's span as their parent; the same context where no valid one is named. */
export function withRemoteParent(context: Context, traceparent: string | null): Context {
  const [, traceId = "", spanId = "", flags = ""] = TRACEPARENT.exec(traceparent ?? "") ?? [];
  const parent = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED, isRemote: true };
  return isSpanContextValid(parent) ? trace.setSpanContext(context, parent) : context;
}

/** Gives Next the caller's span as parent. Nothing is sent on: the service asks nobody who is traced. */
export const traceparentPropagator: TextMapPropagator = {
  fields: () => [HEADER],
  inject: () => {},
  extract: (context, carrier, getter) => {
    const [given = null] = [getter.get(carrier, HEADER)].flat();
    return withRemoteParent(context, given);
  },
};

/** Lets a span follow its request through everything that is waited for. */
export function asyncContexts(): ContextManager {
  const storage = new AsyncLocalStorage<Context>();
  const manager: ContextManager = {
    active: () => storage.getStore() ?? ROOT_CONTEXT,
    with: (context, run, self, ...args) => storage.run(context, () => run.apply(self, args)),
    bind: (context, target) =>
      typeof target === "function"
        ? Object.assign((...args: unknown[]) => storage.run(context, () => target(...args)), target)
        : target,
    enable: () => manager,
    disable: () => {
      storage.disable();
      return manager;
    },
  };
  return manager;
}
